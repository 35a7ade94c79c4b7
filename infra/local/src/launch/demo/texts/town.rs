//! Texts about the town: its streets, the harbour, neighbours and animals.

use super::theme::Theme;

pub const TOWN: Theme = Theme {
    templates: &[
        "{street} is closed until {day}: {works}. [Cyclists can pass|Take the bridge|The bus stops at {place} instead].",
        "Lost: {pet}, last seen near {place}. [Friendly, but shy|Answers to nothing|Comes for cheese]. Please tell me if you see [anything|something].",
        "Found: {found}, on {street}. [It is on my windowsill|I left it at the bakery|Write to me] if it is yours.",
        "The {shop} on {street} [closes at the end of the month|has new owners|is open again|turns thirty this week]. {shop_thought}",
        "[Market|Flea market|Plant swap] at {place} on {day}, from {hour}. {market}",
        "Ferry news: {ferry}.",
        "Somebody has {kindness}. Whoever you are, {thanks}.",
        "I have lived here for [six|eleven|nineteen] years, and only {when} did I notice {detail}. {wonder}",
        "The {animal} at {place} [have|now have] {young}. [Keep your dogs on the lead, please|Look, do not touch|I have been there twice today].",
        "Question for people who [know|have lived in] the town for long: what was in the building {where} before? [I found an old sign|There is a bell on the roof|The tiles are so odd].",
        "The [bench|clock|swing|tap] at {place} is [mended|back|working again]. {thanks_cap}",
        "Town council on {day} at {hour}. On the list: {council}, and [the noise at the harbour|new trees|the opening hours of the pool]. {civic}",
        "Neighbourhood [breakfast|dinner|clean-up] on {street}, {day} at {hour}. [Bring a chair|Bring something to share|Bring a neighbour]. [If it rains, we meet in our yard|Everyone is welcome|There is enough of everything].",
        "{animal_cap} on {street} {when}. It looked [left and right before it crossed|at me as if I were late|very sure of itself].",
        "Waiting for the bus at {place}. [Next to me a boy explains {lore} to his grandfather|Behind me a girl explains {lore} to her grandmother]. {thanks_town}",
        "You know that it is {season} here when {sign}.",
        "Does somebody on {street} have {tool} that I could borrow until {day}? [I bring it back clean|There is cake|I live at number {number}].",
        "Parcel for number {number} is with us. [It rattles|It smells of coffee|It is as big as a door].",
        "The clock at {place} stood still for [three|five|two] years, at ten past four. In that time people met \"at ten past four\" when they meant that they did not know when. Now it goes again, and I do not know how we will manage. {thanks_cap}",
        "The house {where} is being cleared, and they put [boxes of books|old tools|lamps and chairs|jars of buttons] on the pavement with a sign: \"Please take us.\" I took one thing. Then I went back for another. If you pass by {later}, there should be some left, but I cannot promise anything.",
    ],
    words: &[
        (
            "lore",
            &[
                "black holes",
                "how snails sleep",
                "the rules of chess",
                "why the sea is salty",
                "what a queue is for",
            ],
        ),
        ("later", &["tomorrow", "before eight", "this evening", "in the next hour"]),
        (
            "works",
            &[
                "new pipes",
                "the bridge gets a railing",
                "they are planting lime trees",
                "the paving",
                "a film crew, apparently",
                "a cycle lane",
            ],
        ),
        (
            "council",
            &[
                "the railing of the bridge",
                "the price of the ferry",
                "the new cycle lane",
                "a roof for the market",
                "benches along the canal",
            ],
        ),
        (
            "pet",
            &[
                "a grey cat with one white paw",
                "a green budgie",
                "a tortoise (yes, really, he is fast)",
                "a small brown dog with a red collar",
                "a black hen",
            ],
        ),
        (
            "found",
            &[
                "a child's blue boot, left",
                "a bunch of keys with a wooden fish",
                "a violin bow",
                "one good glove",
                "a notebook full of drawings of doors",
                "a silver earring",
            ],
        ),
        (
            "shop",
            &[
                "bookbinder",
                "hardware shop",
                "little cinema",
                "fishmonger",
                "wool shop",
                "bicycle shop",
                "tea house",
            ],
        ),
        (
            "shop_thought",
            &[
                "I am going there right now.",
                "I have been going there since I was six.",
                "Let us all go and buy something.",
                "There will be cake, I hear.",
                "What would we do without it?",
            ],
        ),
        (
            "market",
            &[
                "I will be there with forty tomato plants.",
                "Come early for the good chairs.",
                "Last time I went home with a piano stool.",
                "Children sell for free.",
                "If it rains, we move under the arcades.",
                "There is coffee from the big pot.",
            ],
        ),
        (
            "ferry",
            &[
                "the 7:40 is back",
                "no boats after six until the wind drops",
                "a new captain, and he sings in the speaker",
                "the ticket machine takes coins again",
                "they have painted the Marguerite yellow, and it suits her",
                "twenty minutes late, because a swan sat on the ramp",
            ],
        ),
        (
            "kindness",
            &[
                "shovelled the whole pavement before I was up",
                "hung knitted hats on the railing, \"take one if you are cold\"",
                "repaired the little free library",
                "planted crocuses around every tree on the square",
                "left a box of pears in front of our door",
                "put a light on the dark corner by the steps",
            ],
        ),
        (
            "thanks",
            &[
                "thank you",
                "you made my week",
                "I would like to shake your hand",
                "I owe you a coffee",
                "the whole street is grateful",
            ],
        ),
        (
            "thanks_cap",
            &[
                "Thank you, whoever did it.",
                "About time!",
                "I had given up hope.",
                "Test it soon.",
                "The children were the first to notice.",
            ],
        ),
        (
            "thanks_town",
            &[
                "I let one bus go.",
                "Now I know, too.",
                "The bus may be late, for all I care.",
                "I like it here.",
            ],
        ),
        (
            "detail",
            &[
                "the stone face above the pharmacy door",
                "that the street lamps are numbered",
                "the sundial on the school wall",
                "the tiny door next to the town hall steps",
                "that the church clock is four minutes fast",
                "the fish in the pattern of the paving",
            ],
        ),
        (
            "wonder",
            &[
                "Who made it?",
                "I will look up more often.",
                "What else have I missed?",
                "Nobody I asked knew it.",
                "The town still surprises me.",
            ],
        ),
        ("animal", &["swans", "storks", "foxes", "ducks", "blackbirds"]),
        (
            "animal_cap",
            &["A fox", "A hedgehog", "A very large gull", "Somebody's goose", "A heron"],
        ),
        (
            "young",
            &[
                "five young ones",
                "three young ones",
                "young ones, at least six",
                "two very loud young ones",
            ],
        ),
        (
            "where",
            &[
                "opposite the bakery",
                "next to the pumping station",
                "at the end of the pier",
                "with the green tiles on Mill Street",
            ],
        ),
        (
            "civic",
            &[
                "Come, it is your town, too.",
                "The public may speak from eight.",
                "I bring sandwiches.",
                "It is less boring than it sounds.",
            ],
        ),
        ("season", &["spring", "autumn", "summer", "nearly winter"]),
        (
            "sign",
            &[
                "the ice cream place takes down its shutters",
                "every balcony has a jar of pickles on it",
                "the swimmers at the pier outnumber the gulls",
                "the harbour smells of tar and fresh paint",
                "somebody on the hill lights the first stove",
                "the whole town suddenly owns a kite",
            ],
        ),
        (
            "tool",
            &[
                "a long ladder",
                "a drill for stone",
                "a sewing machine",
                "a wheelbarrow",
                "a hedge trimmer",
                "two folding tables",
            ],
        ),
        ("number", &["3", "7", "12", "16", "21", "28"]),
    ],
};
