//! Themes of the demo: word lists, most frequent words first.

/// Names and words of the themes.
pub(super) const THEMES: [(&str, &str); 12] = [
    (
        "cooking",
        "onion garlic butter oven recipe flour sauce pepper dough simmer roast spice kitchen salt pan whisk bake herb stir broth",
    ),
    (
        "space",
        "planet orbit telescope star galaxy rocket moon astronaut comet gravity nebula satellite crater launch asteroid probe mars solar eclipse cosmos",
    ),
    (
        "football",
        "goal match striker referee league penalty keeper midfield stadium coach defender tackle corner champion dribble offside squad transfer derby whistle",
    ),
    (
        "medicine",
        "patient dose symptom clinic therapy vaccine surgery nurse diagnosis fever infection tumor artery chronic antibiotic surgeon prescription trial pulse remedy",
    ),
    (
        "music",
        "guitar melody concert rhythm orchestra violin chord singer album piano drummer tempo opera soprano tune choir jazz symphony bass encore",
    ),
    (
        "gardening",
        "soil seed compost prune bloom rose weed shovel mulch bulb tulip hedge lawn pollen sprout greenhouse fertile shrub petal orchard",
    ),
    (
        "finance",
        "stock bond dividend investor bank inflation loan mortgage profit broker equity deficit currency audit asset ledger portfolio hedging yield credit",
    ),
    (
        "computing",
        "software compiler server code database kernel bug algorithm network byte cache thread developer protocol debugger encryption script browser cursor backup",
    ),
    (
        "sailing",
        "boat harbor anchor mast tide sail rudder deck captain knot regatta buoy hull keel wind shore crew gale compass voyage",
    ),
    (
        "weather",
        "rain storm cloud thunder forecast snow humidity temperature hurricane drizzle frost lightning breeze drought blizzard fog hail barometer sunshine climate",
    ),
    (
        "law",
        "court judge verdict lawyer statute witness appeal trial plaintiff jury contract clause defendant testimony prosecutor sentence evidence bail hearing tribunal",
    ),
    (
        "railways",
        "train locomotive station track platform conductor signal freight carriage tunnel timetable ticket steam bridge junction express depot commuter rail whistle",
    ),
];

/// Words that occur in documents of all themes.
pub(super) const COMMON: &str = "time people year day way new good first last long great little own old right large \
    early young important public small work part place case week point number group fact";
