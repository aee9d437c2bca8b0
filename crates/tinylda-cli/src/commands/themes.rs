//! Themes of the demo: words and sentences from which its documents are composed.

/// A theme of the demo.
pub(super) struct Theme {
    pub(super) name: &'static str,
    /// Nouns that fill the gaps of the sentences, most frequent first.
    pub(super) nouns: &'static str,
    /// Sentences with gaps, which are marked by `{}`.
    pub(super) sentences: &'static [&'static str],
}

/// The themes.
pub(super) const THEMES: [Theme; 12] = [
    Theme {
        name: "cooking",
        nouns: "onion garlic butter sauce pepper dough broth spice flour herb recipe oven salt roast",
        sentences: &[
            "Chop the {} and simmer it in the pan with the {}.",
            "Stir the {} into the {} and let it simmer gently.",
            "The recipe asks for a spoonful of the {} and twice as much of the {}.",
            "A good kitchen smells of the {} and the {}.",
            "Whisk the {} until it is smooth, then bake it in the oven.",
            "She tasted the {} and reached for the {}.",
            "Without the {}, the {} tastes of nothing at all.",
        ],
    },
    Theme {
        name: "space",
        nouns: "planet orbit telescope star galaxy rocket moon comet satellite probe asteroid nebula crater eclipse",
        sentences: &[
            "The astronauts photographed the {} beyond the {}.",
            "Gravity bends the path of the {} around the {}.",
            "The launch of the {} was delayed by a solar flare.",
            "Astronomers measured how the {} drifts away from the {}.",
            "Through the {} the astronomers saw a faint {}.",
            "The mission to the {} needs fuel for the way back to Mars.",
            "Nobody knows how old the {} near the {} is.",
        ],
    },
    Theme {
        name: "football",
        nouns: "goal striker referee penalty keeper midfield coach defender tackle corner squad league derby stadium",
        sentences: &[
            "The {} decided the match in the last minute.",
            "The fans sang when the {} came back after the {}.",
            "Offside, said the {}, and the goal did not count.",
            "The champions lost the {} and the cup in one season.",
            "The coach praised the {} and kept silent about the {}.",
            "After the whistle the {} argued about the {}.",
            "A transfer of the {} would weaken the {}.",
        ],
    },
    Theme {
        name: "medicine",
        nouns: "patient symptom dose therapy vaccine nurse surgery fever infection tumor diagnosis surgeon clinic antibiotic",
        sentences: &[
            "The doctor treated the {} before the {} became chronic.",
            "The nurse noted the {} and called the surgeon.",
            "A smaller dose would have helped the {} just as much.",
            "The clinic reports fewer cases of the {} this winter.",
            "The hospital discussed the {} and the {} of the patient.",
            "The prescription did not mention the {}.",
            "The pulse was weak, and the {} had to wait for the {}.",
        ],
    },
    Theme {
        name: "music",
        nouns: "melody guitar concert orchestra violin rhythm singer album piano choir chord symphony drummer opera",
        sentences: &[
            "The {} opened with a slow chord, and then the {} joined.",
            "The audience asked for an encore of the {}.",
            "She learned the {} by listening to the {}.",
            "A jazz band borrowed the {} from an old opera.",
            "The tempo of the {} was too fast for the {}.",
            "The bass carried the {} while the soprano rested.",
            "Critics loved the {} and hated the {}.",
        ],
    },
    Theme {
        name: "gardening",
        nouns: "soil seed rose compost lawn tulip hedge weed bulb shrub greenhouse orchard mulch petal",
        sentences: &[
            "Prune the {} in spring and cover it with mulch.",
            "The {} blooms next to the {} until the first cold night.",
            "The gardener dug the {} out with a shovel.",
            "Water the {} early, and the {} will sprout sooner.",
            "Bees carried pollen from the {} to the {}.",
            "The {} needs fertile ground and plenty of shade.",
            "Behind the {} she planted the {}.",
        ],
    },
    Theme {
        name: "finance",
        nouns: "stock bond investor dividend bank loan inflation mortgage profit currency broker portfolio deficit credit",
        sentences: &[
            "The {} fell when the bank raised its rates.",
            "Investors sold the {} and bought the {}.",
            "The audit found that the {} was worth less than the {}.",
            "Inflation eats the {} of every saver.",
            "The broker recommended the {} over the {}.",
            "Equity markets ignored the {} and worried about the {}.",
            "The ledger showed a loss on the {}.",
        ],
    },
    Theme {
        name: "computing",
        nouns: "software server database algorithm network compiler bug kernel protocol script browser cache thread backup",
        sentences: &[
            "The developer fixed the {} and restarted the {}.",
            "The {} stores every byte twice in the {}.",
            "A bug in the {} made the {} crash.",
            "Encryption protects the {} and slows down the {}.",
            "The code of the {} was written before the {} existed.",
            "The debugger stopped in the {} of the program.",
            "Programmers replaced the {} with a faster {}.",
        ],
    },
    Theme {
        name: "sailing",
        nouns: "boat harbor anchor mast tide sail rudder deck captain crew hull keel compass buoy",
        sentences: &[
            "The captain checked the {} before the voyage.",
            "The crew repaired the {} after the gale had torn the {}.",
            "With the tide the {} drifted past the {}.",
            "A knot held the {} to the {}.",
            "They won the regatta although the {} was damaged.",
            "From the shore one could see the {} and the {}.",
            "The sailors lowered the {} and steered by the {}.",
        ],
    },
    Theme {
        name: "weather",
        nouns: "storm rain cloud snow forecast thunder hurricane temperature frost fog drought breeze lightning hail",
        sentences: &[
            "The forecast promised sunshine, but the {} came first.",
            "The {} moved north and brought the {}.",
            "Humidity rose before the {}.",
            "Meteorologists blamed the climate for the {}.",
            "After the {} the barometer climbed again.",
            "A mild drizzle followed the {} and the {}.",
            "The blizzard turned the {} into a {} within hours.",
        ],
    },
    Theme {
        name: "law",
        nouns: "court judge verdict lawyer witness jury contract appeal defendant statute testimony evidence prosecutor sentence",
        sentences: &[
            "The court heard the {} and adjourned the hearing.",
            "The lawyer of the plaintiff questioned the {}.",
            "A clause of the statute protects the {}.",
            "The tribunal rejected the {} and confirmed the {}.",
            "Bail was refused because of the {}.",
            "The judge told the jury to ignore the {}.",
            "The trial ended with the {} and without the {}.",
        ],
    },
    Theme {
        name: "railways",
        nouns: "train station track locomotive platform tunnel signal conductor carriage timetable bridge junction depot ticket",
        sentences: &[
            "The {} stopped in front of the {}.",
            "Commuters waited for the express near the {}.",
            "The {} carries freight through the {} at night.",
            "The railway repaired the {} and closed the {}.",
            "Steam rose from the {} as the whistle blew.",
            "The conductor announced that the {} was late.",
            "A new {} connects the {} with the coast.",
        ],
    },
];

/// Sentences that occur in documents of all themes.
pub(super) const COMMON: &[&str] = &[
    "People had known it for a long time.",
    "It was an important part of the whole year.",
    "The first week was the hardest, and the last day was the best.",
    "A large group of young people took part.",
    "That is a small point, but a good one.",
    "In this case the old way was the right way.",
    "The number of cases grows every year.",
    "It took a great deal of public work.",
];
