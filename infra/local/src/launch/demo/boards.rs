//! The built-in leaderboards, which belong to the first demo user.

/// Trees behind the school, in metres.
pub const HEIGHTS: &str = "heights";
pub const METRES: [(&str, &str); 4] =
    [("ash", "33"), ("birch", "24"), ("cedar", "40"), ("dogwood", "8")];

/// Points and seconds of the best course of each runner. Everybody may enter a result.
pub const ORIENTEERING: &str = "orienteering";
pub const RESULTS: [(&str, &str, &str); 10] = [
    ("linh", "180", "3127"),
    ("tobi", "180", "3304"),
    ("hana", "170", "3298"),
    ("ash", "170", "3391"),
    ("marek", "170", "3391"),
    ("mateo_r", "150", "3560"),
    ("cedar", "140", "3415"),
    ("birch", "140", "3588"),
    ("noor", "110", "3572"),
    ("dogwood", "60", "3599"),
];
