//! The built-in posts, oldest first.

/// A post: its author, its text, and who likes it.
pub type Post = (&'static str, &'static str, &'static [&'static str]);

pub const POSTS: [Post; 50] = [
    (
        "noor",
        "The library has a new table by the door: books about the sea. Take one home before the fog is over.",
        &["ash", "birch", "hana", "ines"],
    ),
    (
        "tobi",
        "Ten kilometres along the canal before work. A heron stood in the shallows and did not care.",
        &["marek", "hana"],
    ),
    (
        "cedar",
        "I have counted: from the workshop to the harbour it is 412 steps, and on the way there are three bakeries. This explains a lot.",
        &["ash", "ines", "dogwood", "linh"],
    ),
    (
        "birch",
        "First swim of the year. Nine degrees. I can feel my feet again, thanks for asking 🥶",
        &["ash", "noor", "dogwood", "hana", "salome"],
    ),
    (
        "mateo_r",
        "Looking for a bass player for Friday. The music is easy, the room is small, the soup is good.",
        &["salome", "linh"],
    ),
    (
        "hana",
        "今朝は霧が深くて、港の灯りだけが見えました。静かでいい朝です。",
        &["noor", "ines", "tobi", "mateo_r"],
    ),
    (
        "ash",
        "I measured the four big trees behind the school today, with a class of nine-year-olds and a lot of string. The cedar wins with 40 metres, the ash has 33, the birch 24. The dogwood is only 8 metres high, but it got the loudest applause.",
        &["birch", "cedar", "dogwood", "noor", "hana", "marek"],
    ),
    (
        "linh",
        "New sticks, same neighbours. I play from five to six, I promise 🥁",
        &["mateo_r", "salome", "tobi"],
    ),
    (
        "ines",
        "Roof tiles are drying in the yard. Please do not walk through, cats excepted.",
        &["cedar", "hana"],
    ),
    (
        "dogwood",
        "Does anyone need rhubarb? I mean it. There is so much rhubarb.",
        &["ash", "birch", "cedar", "hana", "marek", "noor"],
    ),
    (
        "marek",
        "The map for the spring course is printed:\n\n18 controls\n6.2 km as the crow flies\n1 swamp (sorry)\n\nStart is on Sunday at ten, behind the old mill.",
        &["ash", "tobi", "linh", "hana"],
    ),
    (
        "salome",
        "Rehearsal tonight. We play the slow part slowly, for once.",
        &["mateo_r", "linh", "birch"],
    ),
    (
        "noor",
        "Somebody has returned a book that was due in 1994. The fine would be 5,840. We settled for a cake.",
        &["ash", "birch", "ines", "salome", "hana", "linh", "cedar", "tobi"],
    ),
    (
        "hana",
        "Miso soup, rice, and an egg: the breakfast that forgives everything.",
        &["ines", "noor"],
    ),
    (
        "tobi",
        "Is anyone in for an easy run on Thursday? Half past six at the pier, about eight kilometres, and nobody gets left behind.",
        &["marek", "linh", "hana", "ash"],
    ),
    ("cedar", "The drawer finally closes.", &["dogwood", "ash", "ines"]),
    (
        "ash",
        "Wind from the west tomorrow, gusts up to 90. Please stay out of the woods until noon. The trees will still be there afterwards. Most of them.",
        &["birch", "marek", "tobi", "dogwood"],
    ),
    (
        "birch",
        "Four patients today asked me about the weather and none about their knees. I call that progress.",
        &["noor", "ash", "salome"],
    ),
    (
        "mateo_r",
        "Found a bass player! She also brings the soup.",
        &["salome", "linh", "noor", "tobi"],
    ),
    (
        "ines",
        "Opened the kiln at six this morning. Two cracks, forty-one bowls, and a blue that I could not make again if I tried. They are on the long table in the yard if you want to see them before the market.",
        &["cedar", "noor", "hana", "birch", "tobi"],
    ),
    (
        "linh",
        "Question for people who know about bicycles: it clicks, but only uphill. Is it the bicycle or is it me?",
        &["tobi", "marek"],
    ),
    (
        "dogwood",
        "Update: less rhubarb. Thank you all. The courgettes begin in about three weeks 😬",
        &["ash", "cedar", "hana", "noor", "birch"],
    ),
    (
        "marek",
        "To the person who took control 7 home as a souvenir: well found. Please put it back.",
        &["ash", "tobi", "linh", "dogwood"],
    ),
    (
        "hana",
        "If you pass Rope Lane: the plum tree in front of number 9 is in full bloom. It will last two days, perhaps three 🌸",
        &["noor", "ines", "ash", "birch", "cedar", "salome"],
    ),
    (
        "salome",
        "A tune that I had forgotten for twenty years came back today while I was waiting at the dentist's. I hummed it into my phone with half a mouth.",
        &["mateo_r", "birch", "linh"],
    ),
    (
        "noor",
        "Reading hour for children is on Saturday at ten again. This week: a mole, a lost umbrella, and a very long tunnel.",
        &["hana", "dogwood", "birch"],
    ),
    (
        "tobi",
        "I thought it was a personal best. It was the wrong turn. Still 🏃",
        &["marek", "hana", "linh", "dogwood"],
    ),
    (
        "ash",
        "Heard the first cuckoo. I had no coins in my pocket, so no riches this year.",
        &["birch", "cedar", "salome"],
    ),
    (
        "cedar",
        "A table that we made in my first year as an apprentice came back for repair. One leg is a little shorter than the others, and underneath somebody wrote \"sorry\" in pencil. It was me. I have planed the other three, added the date, and left the \"sorry\" where it is. Twenty-two years of dinners, homework and one flood, says the owner, and nobody ever noticed. I noticed at once. If you have something of ours at home that wobbles: bring it, there is coffee, and I will not look underneath.",
        &["ash", "ines", "noor", "dogwood", "hana", "birch", "salome", "linh"],
    ),
    (
        "birch",
        "Three good things:\n1. the bus was early\n2. so was I\n3. peaches",
        &["noor", "salome", "hana"],
    ),
    (
        "mateo_r",
        "How it went on Friday: one broken string, two encores, sixty people in a room for forty.",
        &["salome", "linh", "noor", "birch", "tobi"],
    ),
    ("linh", "It was the bicycle.", &["tobi", "marek", "salome", "mateo_r"]),
    (
        "ines",
        "Does somebody know how to keep swallows out of a kiln shed without making them homeless?",
        &["ash", "cedar", "hana"],
    ),
    (
        "hana",
        "Learned today: the harbour wall is older than the town hall, and the town hall pretends that it is not so.",
        &["noor", "ines", "marek"],
    ),
    (
        "marek",
        "Results of the spring course are on the board. Points first, then time. Linh was faster than all of us, and wet to the knees.",
        &["linh", "tobi", "ash", "hana"],
    ),
    (
        "dogwood",
        "There is a hedgehog under the compost. I have decided that we are friends 🦔",
        &["ash", "birch", "cedar", "hana", "ines", "noor", "marek"],
    ),
    ("tobi", "Rest day. I am very bad at rest days.", &["linh", "marek"]),
    (
        "noor",
        "How we look after old paper, in case you have letters in your attic: dry, dark, cool, and flat. A short guide: https://example.org/old-paper",
        &["birch", "cedar", "hana", "salome"],
    ),
    (
        "salome",
        "The choir needs two more altos and one person who can count to four. Thursdays at seven, in the boathouse. We begin with soup and end with the ferry home.",
        &["mateo_r", "birch", "noor"],
    ),
    (
        "ash",
        "Good morning from the fire tower. You can see the islands today.",
        &["birch", "hana", "tobi", "salome"],
    ),
    (
        "cedar",
        "Sawdust in my coffee. It does not get better with milk.",
        &["ines", "dogwood", "ash"],
    ),
    (
        "birch",
        "I cycled home without a jacket. Officially spring ☀️",
        &["ash", "noor", "dogwood", "ines", "hana"],
    ),
    (
        "ines",
        "All forty-one bowls are sold. Thank you! The crooked one stays with me.",
        &["cedar", "noor", "hana", "birch"],
    ),
    (
        "linh",
        "They asked me what I do when I am not drumming. I am also drumming then.",
        &["mateo_r", "salome", "tobi"],
    ),
    (
        "hana",
        "The ferry was twenty minutes late because a swan sat on the ramp. Nobody was in a hurry. The swan least of all.",
        &["noor", "ash", "birch", "tobi", "mateo_r", "dogwood"],
    ),
    (
        "mateo_r",
        "Una guitarra, una silla, una ventana abierta. No hace falta más.",
        &["salome", "noor", "linh"],
    ),
    (
        "dogwood",
        "I have bought one more lemon tree. Do not tell my sister.",
        &["cedar", "birch", "hana"],
    ),
    (
        "marek",
        "Night course in two weeks. Bring a lamp, a whistle, and somebody you trust.",
        &["tobi", "linh", "ash"],
    ),
    (
        "birch",
        "Whoever left the box of pears in front of our door: you made a whole corridor of nurses happy 🍐",
        &["dogwood", "noor", "ash", "hana", "salome"],
    ),
    (
        "tobi",
        "Tonight from the lighthouse: orange, then pink, then a thin strip of green. I have no photo. You had to be there.",
        &["hana", "marek", "ash", "linh"],
    ),
];

/// Scheduled posts: the author, the text, and the days until they are published.
pub const SCHEDULED: [(&str, &str, u64); 3] = [
    (
        "ash",
        "Reminder: the tree walk begins at ten, at the gate behind the school. Sturdy shoes, please.",
        1,
    ),
    ("noor", "The library opens at eight today, and there is coffee for early readers.", 2),
    (
        "marek",
        "The controls for the night course are out. Start is at nine, behind the old mill.",
        14,
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::launch::demo::people::PEOPLE;

    #[test]
    fn posts_are_allowed_different_and_of_people_who_exist() {
        let exists = |handle: &str| PEOPLE.iter().any(|(known, _)| *known == handle);
        let mut texts = BTreeSet::new();
        for (author, text, fans) in POSTS {
            assert_eq!(fanfold_core::text::post_text(text).as_deref(), Ok(text));
            assert!(exists(author) && fans.iter().all(|fan| exists(fan)), "{text}");
            let different: BTreeSet<&&str> = fans.iter().collect();
            assert!(different.len() == fans.len() && !fans.contains(&author), "{text}");
            assert!(texts.insert(text), "{text}");
        }
        let longest = texts.iter().map(|text| text.chars().count()).max();
        assert!(longest > Some(450), "{longest:?}");
        for (author, text, _) in SCHEDULED {
            assert!(exists(author) && fanfold_core::text::post_text(text).is_ok(), "{text}");
        }
        for (handle, _) in PEOPLE {
            assert!(POSTS.iter().any(|(author, ..)| *author == handle), "{handle} has no post");
        }
    }
}
