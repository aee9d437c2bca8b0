//! Findings about words: stop words (U2), text without spaces (U3), languages (U4), noise (U6).

#![allow(clippy::format_collect, clippy::format_push_string, clippy::needless_for_each)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use common::{bad, good, run};

/// Imports a file and returns what was printed on standard error, and the vocabulary.
fn import(folder: &Path, text: &str, options: &str) -> (String, Vec<String>) {
    std::fs::write(folder.join("texts.txt"), text).unwrap();
    let output = run(folder, &format!("import texts.txt --format text -o texts.tlc {options}"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let corpus = tinylda::Corpus::open(folder.join("texts.tlc")).unwrap();
    let words = corpus.vocabulary().unwrap().unwrap().iter().map(String::from).collect();
    (said, words)
}

#[test]
fn u2_stop_words_keep_content_words() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let text = "The computer science research group at Microsoft wrote a novel about the world.\n\
                It was a test of the value of the system, and there is a fire at the home of the man.\n";
    let (said, words) = import(f, text, "");
    for word in "computer research microsoft novel world test value system fire home man".split(' ') {
        assert!(words.iter().any(|known| known == word), "{word}: {words:?}");
    }
    assert!(!words.iter().any(|word| word == "the" || word == "it"), "{words:?}");
    assert!(said.contains("language: English (detected; override with --language)"), "{said}");
    assert!(said.contains("most frequent stop words: the a"), "{said}");
    let (_, words) = import(f, text, "--stop-words en-long");
    assert!(!words.iter().any(|word| word == "computer" || word == "system"), "{words:?}");
    std::fs::write(f.join("my.txt"), "novel\nfire\n").unwrap();
    let (said, words) = import(f, text, "--stop-words en,my.txt");
    assert!(words.iter().any(|word| word == "computer") && !words.iter().any(|word| word == "novel"));
    assert!(said.contains("stop words (en, my.txt)"), "{said}");
}

#[test]
fn u2_stop_words_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let english = good(f, "stop-words en");
    let words: Vec<&str> = english.lines().collect();
    assert!(words.contains(&"the") && !words.contains(&"computer") && words.is_sorted(), "{english}");
    assert_eq!(good(f, "stop-words English"), english);
    assert!(good(f, "stop-words en-long").lines().any(|word| word == "computer"));
    let all = good(f, "stop-words");
    assert!(all.lines().count() > 50 && all.contains("German (de-long: "), "{all}");
    let json: Value = serde_json::from_str(&good(f, "stop-words de --json")).unwrap();
    assert!(json["words"].as_array().unwrap().iter().any(|word| word == "und"));
    bad(f, "stop-words klingonese", 2, &["unknown list of stop words \"klingonese\"", "tinylda stop-words"]);
    bad(f, "stop-words az-long", 2, &["no long list", "tinylda stop-words az"]);
}

#[test]
fn u3_text_without_spaces_becomes_words() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let (said, words) = import(f, "医生建议病人按时服药,医院的护士照顾病人。\n股票市场今天下跌。\n", "");
    assert!(said.contains("language: Chinese (detected"), "{said}");
    for word in ["医生", "病人", "医院", "护士", "股票", "市场"] {
        assert!(words.iter().any(|known| known == word), "{word}: {words:?}");
    }
    // Text that was segmented before is not cut again.
    let (said, words) = import(f, "自然语言处理 是 人工智能 的 重要 领域 。\n深度学习 推动 了 进步 。\n", "");
    assert!(said.contains("not segmented again; override with --segmentation"), "{said}");
    for word in ["自然语言处理", "人工智能", "深度学习"] {
        assert!(words.iter().any(|known| known == word), "{word}: {words:?}");
    }
    let (_, words) = import(f, "医生建议\n", "--segmentation none");
    assert_eq!(words.len(), 4, "{words:?}");
    // New documents are segmented as those of the training.
    std::fs::write(f.join("texts.txt"), "医生建议病人服药\n股票市场下跌\n".repeat(20)).unwrap();
    good(f, "train texts.txt --format text -k 2 --passes 5 -o zh.model");
    let output = run(f, "infer zh.model texts.txt --to jsonl");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && !said.contains("not in the vocabulary"), "{said}");
}

#[test]
fn u4_the_language_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    for (language, text) in [
        ("Arabic", "أعلنت الحكومة في بيان لها أن الاقتصاد ينمو هذا العام بعد أن كان في أزمة كما قال الوزير"),
        (
            "Turkish",
            "Bu kitap çok güzel ama biraz uzun, çünkü yazar her şeyi anlatmak için daha fazla yer istiyor",
        ),
        ("Hindi", "सरकार ने कहा कि इस साल देश में बारिश कम हुई है और किसानों के लिए यह समस्या है"),
        ("Russian", "Сегодня в городе была хорошая погода, и мы пошли в парк, чтобы погулять с детьми"),
        ("Chinese", "今天天气很好,我们去公园散步,然后一起吃了晚饭"),
        ("Japanese", "今日は天気が良いので、公園を散歩してから家に帰りました"),
        ("Thai", "วันนี้อากาศดีมากเราจึงไปเดินเล่นที่สวนสาธารณะ"),
        ("Korean", "오늘은 날씨가 좋아서 우리는 공원에 가서 산책을 했습니다"),
        ("German", "Die Regierung hat gesagt, dass sie das Gesetz nicht vor dem Ende des Jahres ändern will"),
    ] {
        let (said, _) = import(f, text, "");
        assert!(said.contains(&format!("language: {language} (detected")), "{language}: {said}");
        assert!(said.contains("stop words ("), "{language}: {said}");
    }
    let (said, words) = import(f, "geneA geneB geneC\ngeneB geneD\n", "");
    assert!(
        said.contains("language: not detected, so no stop words are dropped; set it with --language"),
        "{said}"
    );
    assert_eq!(words.len(), 4);
    let (said, words) = import(f, "IŞIK ve İstanbul\n", "--language tr");
    assert!(!said.contains("detected; override with --language"), "{said}");
    assert_eq!(words, ["istanbul", "ışık"]);
    bad(f, "import texts.txt --language klingonese -o x.tlc", 2, &["--language", "ISO 639-1", "klingonese"]);
    let (_, words) = import(f, "The god's word\n", "--language none");
    assert_eq!(words, ["god's", "the", "word"]);
}

#[test]
fn u4_mixed_collections_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let english = "The government said that it would not change the law before the end of the year\n";
    let german = "Die Regierung hat gesagt, dass sie das Gesetz nicht vor dem Ende des Jahres ändern will\n";
    let (said, words) = import(folder.path(), &format!("{english}{german}{english}"), "");
    assert!(said.contains("languages: English (66%), German (33%)"), "{said}");
    assert!(!words.iter().any(|word| word == "the" || word == "die"), "{words:?}");
}

/// Returns mails with signatures, quotes, headers, addresses and encoded data.
fn noisy_mails() -> String {
    let bodies = [
        "The engine of the car needs new oil, and the brakes of the car are old.",
        "The team won the game, and the goal of the season was in this game.",
        "The orbit of the satellite is low, and the rocket left the launch pad.",
    ];
    let mut text = String::new();
    for i in 0..60u32 {
        let hash = i.wrapping_mul(2_654_435_761);
        writeln!(
            text,
            "From: user{i}@host{i}.example.edu Message-ID: <{hash:08x}.{i}@mail.example.com> \
             ------=_NextPart_000_{i:04}_{hash:08X} > {body} >> {body} \
             begin 644 picture.gif M<V5D(&EN('1H92!W;W)L9\"!I<R!A;{i} M0D_O W7 \"9F9F9F9G _O 0D \
             iVBORw0KGgo{hash:x}AAANSUhEUgAA{hash:x}AX8q7z{i} http://www.example.com/~user{i}/page.html \
             ftp.cs.example.edu sha256 {hash:08x}{hash:08x} p53 covid-19",
            body = bodies[i as usize % 3]
        )
        .unwrap();
    }
    text
}

#[test]
fn u6_noise_makes_no_words() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let (said, words) = import(f, &noisy_mails(), "--language en");
    let expected = "begin brakes car covid-19 engine game gif goal launch left low message-id needs new oil old \
                    orbit p53 pad picture rocket satellite season sha256 team won";
    let expected: Vec<&str> = expected.split_whitespace().collect();
    let unexpected: Vec<&String> = words
        .iter()
        .filter(|word| !expected.contains(&word.as_str()) && !["id", "message"].contains(&word.as_str()))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    for word in ["car", "rocket", "team", "p53", "covid-19"] {
        assert!(words.iter().any(|known| known == word), "{word}: {words:?}");
    }
    assert!(said.contains("not words (addresses, codes)"), "{said}");
    assert!(said.contains("frequent words, each in more than 25% of the documents:"), "{said}");
    assert!(said.contains("--max-docs 25% or --stop-words en,FILE"), "{said}");
    let json: Value =
        serde_json::from_str(&good(f, "import texts.txt --format text --json -o x.tlc")).unwrap();
    let left_out = &json["left_out"];
    assert!(left_out["noise"].as_u64() > Some(100), "{json}");
    assert_eq!(left_out["most_frequent_stop_words"][0]["word"], "the");
    assert!(left_out["most_frequent_words"][0]["documents"].as_u64() > Some(15));
    assert_eq!(left_out["languages"][0]["language"], "en");
    let (_, all) = import(f, &noisy_mails(), "--noise keep");
    assert!(all.len() > words.len() + 50);
}

#[test]
fn u6_possessives_join_their_word() {
    let folder = tempfile::tempdir().unwrap();
    let text = "God's love is what it is, and the love of god is with them.\n";
    let (_, words) = import(folder.path(), text, "");
    assert_eq!(words, ["god", "love"]);
}

/// Sentences of three themes: medicine, football, economy.
const THEMES: [(&str, [[&str; 4]; 3]); 8] = [
    (
        "zh",
        [
            ["医生给病人开药。", "护士在医院照顾病人。", "病人的治疗需要药物。", "医院的医生做手术。"],
            ["足球比赛今天开始。", "球队赢得了冠军。", "教练批评球队的防守。", "足球冠军的比赛很精彩。"],
            ["股票市场今天下跌。", "银行提高了利率。", "经济增长影响市场。", "投资股票的银行很多。"],
        ],
    ),
    (
        "ja",
        [
            [
                "医者が患者に薬を出した。",
                "看護師は病院で患者を見た。",
                "患者の治療に薬が必要だ。",
                "病院の医者が手術をした。",
            ],
            [
                "サッカーの試合が始まった。",
                "チームが優勝した。",
                "監督はチームの守備を批判した。",
                "サッカーの優勝の試合だった。",
            ],
            [
                "株式市場が下落した。",
                "銀行が金利を上げた。",
                "経済成長が市場に影響する。",
                "株式に投資する銀行が多い。",
            ],
        ],
    ),
    (
        "th",
        [
            ["หมอให้ยาแก่ผู้ป่วย", "พยาบาลดูแลผู้ป่วยในโรงพยาบาล", "การรักษาผู้ป่วยต้องใช้ยา", "หมอในโรงพยาบาลผ่าตัด"],
            ["การแข่งขันฟุตบอลเริ่มวันนี้", "ทีมฟุตบอลได้แชมป์", "โค้ชวิจารณ์ทีม", "แชมป์ฟุตบอลแข่งขันสนุก"],
            ["ตลาดหุ้นตกวันนี้", "ธนาคารขึ้นดอกเบี้ย", "เศรษฐกิจมีผลต่อตลาด", "ธนาคารลงทุนในหุ้น"],
        ],
    ),
    (
        "ar",
        [
            [
                "وصف الطبيب الدواء إلى المريض",
                "الممرضة في المستشفى مع المريض",
                "العلاج في المستشفى مع الدواء",
                "أجرى الطبيب عملية في المستشفى",
            ],
            [
                "بدأت المباراة في الملعب",
                "فاز الفريق في البطولة",
                "انتقد المدرب دفاع الفريق",
                "سجل اللاعب هدفا في المباراة",
            ],
            [
                "انخفض سوق الأسهم اليوم",
                "رفع البنك سعر الفائدة",
                "نمو الاقتصاد في السوق",
                "استثمر البنك في الأسهم",
            ],
        ],
    ),
    (
        "tr",
        [
            [
                "Doktor hasta için ilaç yazdı.",
                "Hemşire bu hastane içinde hasta ile ilgilendi.",
                "Tedavi için ilaç gerekli.",
                "Doktor hastane içinde ameliyat yaptı.",
            ],
            [
                "Futbol maçı bugün başladı.",
                "Takım bu maçı kazandı.",
                "Antrenör takım için konuştu.",
                "Futbol takımı gol attı ve kazandı.",
            ],
            [
                "Borsa bugün düştü.",
                "Banka faiz oranını artırdı.",
                "Ekonomi ve piyasa büyüdü.",
                "Banka borsa için yatırım yaptı.",
            ],
        ],
    ),
    (
        "de",
        [
            [
                "Der Arzt gibt dem Patienten ein Medikament.",
                "Die Pflegerin hilft dem Patienten im Krankenhaus.",
                "Das Medikament ist für die Behandlung.",
                "Der Arzt operiert im Krankenhaus.",
            ],
            [
                "Das Spiel der Mannschaft hat begonnen.",
                "Die Mannschaft hat das Spiel gewonnen.",
                "Der Trainer spricht mit dem Torwart.",
                "Der Torwart der Mannschaft hält den Ball.",
            ],
            [
                "Die Börse ist heute gefallen.",
                "Die Bank erhöht den Zins.",
                "Die Wirtschaft und der Markt wachsen.",
                "Die Bank investiert an der Börse.",
            ],
        ],
    ),
    (
        "hi",
        [
            [
                "डॉक्टर ने मरीज को दवा दी।",
                "नर्स ने अस्पताल में मरीज की सेवा की।",
                "इलाज के लिए दवा चाहिए।",
                "डॉक्टर ने अस्पताल में ऑपरेशन किया।",
            ],
            [
                "फुटबॉल का मैच आज शुरू हुआ।",
                "टीम ने मैच में जीत हासिल की।",
                "कोच ने टीम की आलोचना की।",
                "खिलाड़ी ने मैच में गोल किया।",
            ],
            [
                "शेयर बाजार आज गिर गया।",
                "बैंक ने ब्याज दर बढ़ाई।",
                "अर्थव्यवस्था और बाजार पर असर है।",
                "बैंक ने शेयर में निवेश किया।",
            ],
        ],
    ),
    (
        "ru",
        [
            [
                "Врач дал лекарство, и пациент в больнице.",
                "Медсестра и пациент были в больнице.",
                "Для лечения нужно лекарство.",
                "Врач сделал операцию в больнице.",
            ],
            [
                "Матч начался, и команда вышла на поле.",
                "Команда выиграла матч.",
                "Тренер и вратарь были на поле.",
                "Вратарь не пропустил гол в матче.",
            ],
            [
                "Биржа упала, и рынок тоже.",
                "Банк поднял ставку для всех.",
                "Экономика и рынок растут.",
                "Банк вложил деньги в акции на бирже.",
            ],
        ],
    ),
];

/// Documents of every language are assigned to three topics that are their themes.
#[test]
fn u3_u4_topics_of_eight_languages_separate_themes() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    for (language, themes) in THEMES {
        let mut text = String::new();
        for i in 0..30 {
            let sentences = themes[i % 3];
            let shown: Vec<&str> = (0..6).map(|n| sentences[(i / 3 + n * n) % 4]).chain(sentences).collect();
            writeln!(text, "{}", shown.join(" ")).unwrap();
        }
        std::fs::write(f.join("texts.txt"), text).unwrap();
        let output = run(f, "train texts.txt --format text -k 3 --passes 100 --seed 3 -o m.model");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let name = tinylda::corpus::ingest::words::language_name(language).unwrap();
        assert!(said.contains(&format!("language: {name} (detected")), "{language}: {said}");
        let rows = good(f, "infer m.model texts.txt --to jsonl -q");
        let topics: Vec<usize> = rows.lines().map(strongest_topic).collect();
        assert_eq!(topics.len(), 30, "{rows}");
        for (i, &topic) in topics.iter().enumerate() {
            assert_eq!(
                topic,
                topics[i % 3],
                "{language}: document {i} of {topics:?}\n{}",
                good(f, "topics m.model -q")
            );
        }
        assert!(
            topics[0] != topics[1] && topics[1] != topics[2] && topics[0] != topics[2],
            "{language}: {topics:?}"
        );
    }
}

/// Returns the topic with the highest proportion in a line of `infer --to jsonl`.
fn strongest_topic(line: &str) -> usize {
    let value: Value = serde_json::from_str(line).unwrap();
    let proportions = value["proportions"].as_array().unwrap_or_else(|| panic!("{line}"));
    let proportion = |topic: usize| proportions[topic].as_f64().unwrap();
    (0..proportions.len()).max_by(|&a, &b| proportion(a).total_cmp(&proportion(b))).unwrap()
}

#[test]
fn phrases_have_up_to_three_words() {
    let folder = tempfile::tempdir().unwrap();
    // Every other pair of words occurs fewer than ten times.
    let before = "apple bridge candle dragon eagle forest garden".split(' ').collect::<Vec<_>>();
    let after = "hammer island jacket kettle ladder mirror needle orange pencil rabbit saddle";
    let after = after.split(' ').collect::<Vec<_>>();
    let mut text = String::new();
    for i in 0..60 {
        writeln!(text, "{} New York Times {}", before[i % 7], after[i % 11]).unwrap();
        writeln!(text, "{}s New York {}s", before[i % 7], after[i % 11]).unwrap();
    }
    let (said, words) = import(folder.path(), &text, "--phrases");
    assert!(words.iter().any(|word| word == "new_york_times"), "{words:?}");
    assert!(words.iter().any(|word| word == "new_york"), "{words:?}");
    assert!(!words.iter().any(|word| word == "york" || word == "times"), "{words:?}");
    assert!(said.contains("phrases joined"), "{said}");
}

#[test]
fn u4_turkish_letters_confirm_the_language() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let (said, words) = import(f, "IĞDIR'DA YAĞIŞLI HAVA\nKIŞ IŞIKLARI YANDI\nSAĞLIK BAKANLIĞI\n", "");
    assert!(said.contains("language: Turkish (detected"), "{said}");
    assert!(words.iter().any(|word| word == "sağlık") && words.iter().any(|word| word == "kış"), "{words:?}");
    // In English text, İ becomes one letter.
    let (_, words) = import(f, "The bridge of İstanbul is near the old town of the city.\n", "--language en");
    assert!(words.iter().any(|word| word == "istanbul"), "{words:?}");
    let english = "The weather in the city was good, and it is said that there is a light on the hill.\n";
    let turkish = "IŞIK IĞDIR'da bu akşam çok güzeldi, çünkü her yer için daha fazla ışık vardı.\n";
    let (_, words) = import(f, &format!("{english}{turkish}").repeat(4), "--language en,tr");
    assert!(words.iter().any(|word| word == "ışık") && !words.iter().any(|word| word == "işik"), "{words:?}");
    assert!(words.iter().any(|word| word == "light"), "{words:?}");
}

#[test]
fn u4_letters_have_one_form() {
    let folder = tempfile::tempdir().unwrap();
    let text = "ﬁnance soft\u{ad}ware ｗｏｒｄ\nfinance software word\u{200b}\u{feff}\n";
    let (_, words) = import(folder.path(), text, "--stop-words none");
    assert_eq!(words, ["finance", "software", "word"]);
}

#[test]
fn u6_hex_dumps_are_noise() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    let text = "river 0a fa ff dd ee 12 fa water\nad be bank\nmac 00:fa:ff:dd:ee:1a address\n";
    let (_, words) = import(f, text, "--stop-words none");
    assert_eq!(words, ["ad", "address", "bank", "be", "mac", "river", "water"]);
}

#[test]
fn u2_word_lists_that_match_nothing_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("stop.txt"), "river, water, fish\nbank\n").unwrap();
    let (said, _) = import(f, "river water fish\nbank money\n", "--stop-words stop.txt");
    assert!(
        said.contains("warning: 1 entry of --stop-words matches no word, such as \"river, water, fish\""),
        "{said}"
    );
    std::fs::write(f.join("words.txt"), "River\nbank 12\nmoney\n").unwrap();
    let (said, _) = import(f, "river water fish\nbank money\n", "--vocabulary words.txt --stop-words none");
    assert!(said.contains("warning: 2 entries of --vocabulary match no word, such as \"River\""), "{said}");
    assert!(said.contains("one word per line, in lower case"), "{said}");
}

#[cfg(unix)]
#[test]
fn r1_lists_may_be_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let f = folder.path();
    std::fs::write(f.join("texts.txt"), "river water fish\nbank money river\n".repeat(10)).unwrap();
    std::fs::write(f.join("my.txt"), "river\n").unwrap();
    std::fs::write(f.join("seeds.txt"), "money: bank\n").unwrap();
    let program = assert_cmd::Command::cargo_bin("tinylda").unwrap();
    let program = program.get_program().to_owned();
    let shell = |script: &str| {
        let mut command = std::process::Command::new("bash");
        command.current_dir(f).args(["-c", script]).arg(&program);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{script}: {said}");
    };
    shell("\"$0\" import texts.txt --format text -o c.tlc --stop-words <(cat my.txt)");
    let corpus = tinylda::Corpus::open(f.join("c.tlc")).unwrap();
    assert!(!corpus.vocabulary().unwrap().unwrap().iter().any(|word| word == "river"));
    shell("\"$0\" train texts.txt --format text -k 2 --passes 3 -o m.model --seeds <(cat seeds.txt)");
    assert!(f.join("m.model").exists());
}
