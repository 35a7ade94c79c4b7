//! Texts about music.

use super::theme::Theme;

pub const MUSIC: Theme = Theme {
    templates: &[
        "Rehearsal {when}. {rehearsal}",
        "[I have had|There is|All day I have had] {tune} in my head. [Help|Please send another one|It could be worse].",
        "Concert at {venue} on {day} at {hour}. {band} [Free entry, there is a hat|Bring a cushion|Come early, it is small]. 🎶",
        "I am learning {piece} on the {instrument}. {practice}",
        "Found [my old|my uncle's|an old] {instrument} in the attic. {attic}",
        "The choir is looking for [tenors|basses|two more altos|anyone who can count to four]. [Thursdays at seven|{day} at {hour}], {venue}. Nobody has to audition.",
        "Record of the day: {record}. {listening}",
        "What do you listen to when you [cook|clean windows|cannot sleep|run uphill]? I need something [new|without words|loud|very slow].",
        "{minutes} minutes of scales {when}. {practice}",
        "The busker in front of the station plays {record_small} [and plays it well|much too fast|on a {instrument}]. {listening}",
        "Our neighbour practises the {instrument}, the same four bars since {day}. {neighbour}",
        "Small concert report: {band} [The second half|The encore|The slow piece] was the best. {listening}",
        "[Tuned|Restrung|Cleaned] the {instrument} {when}. {attic}",
        "My daughter asked {when} why [sad songs are nice|the conductor does not play anything|a violin has no buttons]. {neighbour_none}",
        "If you have never heard {record_small} live: do. {venue_cap} has it on {day}.",
        "Dance evening at {venue} {evening}. [I stepped on three feet|I know four steps now|My knees are filing a complaint]. {rehearsal_short}",
        "We played at the [retirement home|hospital] {when}, an hour of [waltzes|old dance songs|sea songs] and whatever they asked for. In the front row sat a lady who had not spoken for weeks, they told us afterwards. She sang along, every verse, also the ones that we did not know.",
        "For those who could not come to {venue} {when}: {band} They began twenty minutes late because the [piano|double bass|singer] was stuck on the ferry, and so we all sat there and talked to strangers. That was nearly as good as the concert. {listening}",
    ],
    words: &[
        (
            "rehearsal",
            &[
                "We played the fast part slowly, and the slow part fast, and then it worked.",
                "Half of the brass section was ill, and nobody noticed. Do not tell them.",
                "The new piece has seven flats. Seven.",
                "For eight bars it was perfect. We all looked at each other.",
                "Two strings broken, one stand broken, spirits high.",
                "Our conductor counted us in, and for once everyone came in.",
            ],
        ),
        (
            "rehearsal_short",
            &[
                "Same time next week.",
                "I will be back.",
                "I have not laughed so much in weeks.",
                "My shirt is drying.",
                "The band was wonderful.",
            ],
        ),
        (
            "tune",
            &[
                "the tune of the ferry announcement",
                "a waltz that I do not know the name of",
                "one line of a song from school",
                "the jingle of the ice cream van",
                "the alto part, only the alto part",
            ],
        ),
        (
            "venue",
            &[
                "the old fire station",
                "St. Anne's",
                "the boathouse",
                "the school hall",
                "the Lantern",
                "the back room of the Anchor",
            ],
        ),
        (
            "venue_cap",
            &["The old fire station", "The boathouse", "The Lantern", "The little theatre"],
        ),
        (
            "band",
            &[
                "Two accordions, a double bass, and one very shy singer.",
                "A brass band from up the valley.",
                "Four voices, no microphone.",
                "A string quartet that plays only dances.",
                "Songs in five languages.",
                "Mateo on the guitar, Linh on the drums.",
            ],
        ),
        (
            "instrument",
            &[
                "clarinet",
                "cello",
                "guitar",
                "accordion",
                "trumpet",
                "viola",
                "mandolin",
                "flute",
                "piano",
            ],
        ),
        (
            "piece",
            &[
                "a minuet",
                "a tango",
                "a very slow waltz",
                "something by a composer I cannot pronounce",
                "the bass line of everything",
                "a lullaby",
            ],
        ),
        (
            "practice",
            &[
                "The cat has moved to the other room.",
                "Bar nine and I are not friends.",
                "It sounds better with the door closed, says everyone.",
                "Today it almost sounded like music.",
                "Ten minutes a day really do help. I did not believe it.",
                "Slowly. Very slowly.",
                "My fingers know it, if I do not look.",
            ],
        ),
        (
            "attic",
            &[
                "It needs a lot of love.",
                "It still smells of him.",
                "In tune for about a minute. What a minute!",
                "I had forgotten how heavy it is.",
                "Tonight the neighbours need patience.",
                "It has a new life ahead of it.",
            ],
        ),
        (
            "record",
            &[
                "a live recording from a church, you can hear the rain on the roof",
                "old cumbias, side B",
                "piano, four hands, no hurry",
                "a choir from Georgia. Goosebumps",
                "the first one that I bought with my own money",
                "field recordings of frogs, and I mean it",
            ],
        ),
        (
            "record_small",
            &[
                "that slow tango",
                "the big Bach chaconne",
                "old swing tunes",
                "Cape Verdean songs",
                "a klezmer medley",
                "the theme from a film that nobody remembers",
            ],
        ),
        (
            "listening",
            &[
                "I missed my bus and did not mind.",
                "I listened twice, the second time in the dark.",
                "My whole evening is better.",
                "Turn it up.",
                "I stood there with my shopping until the ice cream melted.",
                "We hummed it all the way home.",
            ],
        ),
        (
            "neighbour",
            &[
                "I am starting to root for her.",
                "Today there was a fifth bar!",
                "We have begun to hum along.",
                "I baked him a cake for perseverance.",
                "It is better than the drill.",
            ],
        ),
        (
            "neighbour_none",
            &[
                "I had no answer.",
                "We talked about it until bedtime.",
                "Good question.",
                "I asked the orchestra. They had no answer either.",
            ],
        ),
    ],
};
