//! The rules for texts and names as regular expressions, for the API's description.
//!
//! A pattern cannot count characters as a person does, so the patterns are a little stricter than the
//! rules: every code point except an accent counts, a character has at most [`ACCENTS_MAX`] accents, and
//! flags that are spelled with tags are not allowed. A value that does not match is refused, except for such flags, such accents, and long
//! texts of characters with several code points. A value that matches can be refused for one reason, which no pattern can
//! express: a character of too many code points.
//!
//! Characters above U+FFFF are written literally, because all regular expression engines read that form.

use crate::limits::{
    ACCENTS_MAX, ALT_GRAPHEMES_MAX, BOARD_NAME_CHARS_MAX, NAME_GRAPHEMES_MAX, TEXT_GRAPHEMES_MAX,
};

/// The pattern of the text of a post.
pub fn post_text() -> String {
    pattern(REFUSED_IN_TEXTS, TEXT_GRAPHEMES_MAX)
}

/// The pattern of a name.
pub fn name() -> String {
    pattern(REFUSED_IN_NAMES, NAME_GRAPHEMES_MAX)
}

/// The pattern of what users say about themselves.
pub fn bio() -> String {
    maybe(REFUSED_IN_TEXTS, TEXT_GRAPHEMES_MAX)
}

/// The pattern of the description of an attachment.
pub fn alt() -> String {
    maybe(REFUSED_IN_TEXTS, ALT_GRAPHEMES_MAX)
}

/// The pattern of the label of a link.
pub fn label() -> String {
    maybe(REFUSED_IN_NAMES, NAME_GRAPHEMES_MAX)
}

/// The pattern of the name of a board or a member. It is exactly the rule.
pub fn path_name() -> String {
    format!(
        "^(?!\\.{{1,2}}$)(?![{SPACE}{JOINING}])(?![\\s\\S]*[{SPACE}]$)(?=[\\s\\S]*[^{UNSEEN}])\
         [^{LOST_IN_PATHS}{REFUSED_IN_NAMES}]{{1,{BOARD_NAME_CHARS_MAX}}}$"
    )
}

/// A pattern of three parts: at least one character is visible; the first character does not join the
/// text before it; up to `max` characters, with at most 9 white space characters on each side. The longest
/// match is shorter than the field's limit, so fuzzers that search for values at the limit stop at once.
fn pattern(refused: &str, max: usize) -> String {
    format!(
        "^(?=[\\s\\S]*[^{UNSEEN}])(?![{SPACE}]*[{JOINING}])\
         [{SPACE}]{{0,9}}([^{refused}{ACCENT}][{ACCENT}]{{0,{ACCENTS_MAX}}}){{1,{max}}}[{SPACE}]{{0,9}}$"
    )
}

/// A pattern without the first part.
fn maybe(refused: &str, max: usize) -> String {
    format!(
        "^(?![{SPACE}]*[{JOINING}])\
         [{SPACE}]{{0,9}}([^{refused}{ACCENT}][{ACCENT}]{{0,{ACCENTS_MAX}}}){{0,{max}}}[{SPACE}]{{0,9}}$"
    )
}

const ACCENT: &str = r"\u0300-\u036f";
const SPACE: &str = "\\u0009-\\u000d\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028-\\u2029\\u202f\\u205f\\u3000";
const UNSEEN: &str = "\\u0009-\\u000d\\u0020\\u0085\\u00a0\\u00ad\\u0300-\\u036f\\u0483-\\u0489\\u0591-\\u05bd\\u05bf\\u05c1-\\u05c2\\u05c4-\\u05c5\\u05c7-\\u05c9\\u0610-\\u061a\\u061c\\u064b-\\u065f\\u0670\\u06d6-\\u06dc\\u06df-\\u06e4\\u06e7-\\u06e8\\u06ea-\\u06ed\\u0711\\u0730-\\u074a\\u07a6-\\u07b0\\u07eb-\\u07f3\\u07fd\\u0816-\\u0819\\u081b-\\u0823\\u0825-\\u0827\\u0829-\\u082d\\u0859-\\u085b\\u0897-\\u089f\\u08ca-\\u08e1\\u08e3-\\u0902\\u093a\\u093c\\u0941-\\u0948\\u094d\\u0951-\\u0957\\u0962-\\u0963\\u0981\\u09bc\\u09c1-\\u09c4\\u09cd\\u09e2-\\u09e3\\u09fe\\u0a01-\\u0a02\\u0a3c\\u0a41-\\u0a42\\u0a47-\\u0a48\\u0a4b-\\u0a4d\\u0a51\\u0a70-\\u0a71\\u0a75\\u0a81-\\u0a82\\u0abc\\u0ac1-\\u0ac5\\u0ac7-\\u0ac8\\u0acd\\u0ae2-\\u0ae3\\u0afa-\\u0aff\\u0b01\\u0b3c\\u0b3f\\u0b41-\\u0b44\\u0b4d\\u0b53-\\u0b56\\u0b62-\\u0b63\\u0b82\\u0bc0\\u0bcd\\u0c00\\u0c04\\u0c3c\\u0c3e-\\u0c40\\u0c46-\\u0c48\\u0c4a-\\u0c4d\\u0c55-\\u0c56\\u0c62-\\u0c63\\u0c81\\u0cbc\\u0cbf\\u0cc6\\u0ccc-\\u0ccd\\u0ce2-\\u0ce3\\u0d00-\\u0d01\\u0d3b-\\u0d3c\\u0d41-\\u0d44\\u0d4d\\u0d62-\\u0d63\\u0d81\\u0dca\\u0dd2-\\u0dd4\\u0dd6\\u0e31\\u0e34-\\u0e3a\\u0e47-\\u0e4e\\u0eb1\\u0eb4-\\u0ebc\\u0ec8-\\u0ece\\u0f18-\\u0f19\\u0f35\\u0f37\\u0f39\\u0f71-\\u0f7e\\u0f80-\\u0f84\\u0f86-\\u0f87\\u0f8d-\\u0f97\\u0f99-\\u0fbc\\u0fc6\\u102d-\\u1030\\u1032-\\u1037\\u1039-\\u103a\\u103d-\\u103e\\u1058-\\u1059\\u105e-\\u1060\\u1071-\\u1074\\u1082\\u1085-\\u1086\\u108d\\u109d\\u115f-\\u1160\\u135d-\\u135f\\u1680\\u1712-\\u1714\\u1732-\\u1733\\u1752-\\u1753\\u1772-\\u1773\\u17b7-\\u17bd\\u17c6\\u17c9-\\u17d3\\u17dd\\u180b-\\u180f\\u1885-\\u1886\\u18a9\\u1920-\\u1922\\u1927-\\u1928\\u1932\\u1939-\\u193b\\u1a17-\\u1a18\\u1a1b\\u1a56\\u1a58-\\u1a5e\\u1a60\\u1a62\\u1a65-\\u1a6c\\u1a73-\\u1a7c\\u1a7f\\u1ab0-\\u1af0\\u1b00-\\u1b03\\u1b34\\u1b36-\\u1b3a\\u1b3c\\u1b42\\u1b6b-\\u1b73\\u1b80-\\u1b81\\u1ba2-\\u1ba5\\u1ba8-\\u1ba9\\u1bab-\\u1bad\\u1be6\\u1be8-\\u1be9\\u1bed\\u1bef-\\u1bf1\\u1c2c-\\u1c33\\u1c36-\\u1c37\\u1cd0-\\u1cd2\\u1cd4-\\u1ce0\\u1ce2-\\u1ce8\\u1ced\\u1cf4\\u1cf8-\\u1cf9\\u1dc0-\\u1dff\\u2000-\\u200f\\u2028-\\u2029\\u202f\\u205f\\u20d0-\\u20f0\\u2800\\u2cef-\\u2cf1\\u2d7f\\u2de0-\\u2dff\\u3000\\u302a-\\u302d\\u3099-\\u309a\\u3164\\ua66f-\\ua672\\ua674-\\ua67d\\ua69e-\\ua69f\\ua6f0-\\ua6f1\\ua802\\ua806\\ua80b\\ua825-\\ua826\\ua82c\\ua8c4-\\ua8c5\\ua8e0-\\ua8f1\\ua8ff\\ua926-\\ua92d\\ua947-\\ua951\\ua980-\\ua982\\ua9b3\\ua9b6-\\ua9b9\\ua9bc-\\ua9bd\\ua9e5\\uaa29-\\uaa2e\\uaa31-\\uaa32\\uaa35-\\uaa36\\uaa43\\uaa4c\\uaa7c\\uaab0\\uaab2-\\uaab4\\uaab7-\\uaab8\\uaabe-\\uaabf\\uaac1\\uaaec-\\uaaed\\uaaf6\\uabe5\\uabe8\\uabed\\ufb1e\\ufe00-\\ufe0f\\ufe20-\\ufe2f\\uffa0\u{101fd}\u{102e0}\u{10376}-\u{1037a}\u{10a01}-\u{10a03}\u{10a05}-\u{10a06}\u{10a0c}-\u{10a0f}\u{10a38}-\u{10a3a}\u{10a3f}\u{10ae5}-\u{10ae6}\u{10d24}-\u{10d27}\u{10d69}-\u{10d6d}\u{10eab}-\u{10eac}\u{10ecb}-\u{10ecf}\u{10ef0}-\u{10eff}\u{10f46}-\u{10f50}\u{10f82}-\u{10f85}\u{11001}\u{11038}-\u{11046}\u{11070}\u{11073}-\u{11074}\u{1107f}-\u{11081}\u{110b3}-\u{110b6}\u{110b9}-\u{110ba}\u{110c2}\u{11100}-\u{11102}\u{11127}-\u{1112b}\u{1112d}-\u{11134}\u{11173}\u{11180}-\u{11181}\u{111b6}-\u{111be}\u{111c9}-\u{111cc}\u{111cf}\u{1122f}-\u{11231}\u{11234}\u{11236}-\u{11237}\u{1123e}\u{11241}\u{112df}\u{112e3}-\u{112ea}\u{11300}-\u{11301}\u{1133b}-\u{1133c}\u{11340}\u{11366}-\u{1136c}\u{11370}-\u{11374}\u{113bb}-\u{113c0}\u{113ce}\u{113d0}\u{113d2}\u{113e1}-\u{113e2}\u{11438}-\u{1143f}\u{11442}-\u{11444}\u{11446}\u{1145e}\u{114b3}-\u{114b8}\u{114ba}\u{114bf}-\u{114c0}\u{114c2}-\u{114c3}\u{115b2}-\u{115b5}\u{115bc}-\u{115bd}\u{115bf}-\u{115c0}\u{115dc}-\u{115dd}\u{11633}-\u{1163a}\u{1163d}\u{1163f}-\u{11640}\u{116ab}\u{116ad}\u{116b0}-\u{116b5}\u{116b7}\u{1171d}\u{1171f}\u{11722}-\u{11725}\u{11727}-\u{1172b}\u{1182f}-\u{11837}\u{11839}-\u{1183a}\u{1193b}-\u{1193c}\u{1193e}\u{11943}\u{119d4}-\u{119d7}\u{119da}-\u{119db}\u{119e0}\u{11a01}-\u{11a0a}\u{11a33}-\u{11a38}\u{11a3b}-\u{11a3e}\u{11a47}\u{11a51}-\u{11a56}\u{11a59}-\u{11a5b}\u{11a8a}-\u{11a96}\u{11a98}-\u{11a99}\u{11b60}\u{11b62}-\u{11b64}\u{11b66}\u{11c30}-\u{11c36}\u{11c38}-\u{11c3d}\u{11c3f}\u{11c92}-\u{11ca7}\u{11caa}-\u{11cb0}\u{11cb2}-\u{11cb3}\u{11cb5}-\u{11cb6}\u{11d31}-\u{11d36}\u{11d3a}\u{11d3c}-\u{11d3d}\u{11d3f}-\u{11d45}\u{11d47}\u{11d90}-\u{11d91}\u{11d95}\u{11d97}\u{11df0}\u{11ef3}-\u{11ef4}\u{11f00}-\u{11f01}\u{11f36}-\u{11f3a}\u{11f40}\u{11f42}\u{11f5a}\u{13430}-\u{13442}\u{13447}-\u{13455}\u{1611e}-\u{16129}\u{1612d}-\u{1612f}\u{16af0}-\u{16af4}\u{16b30}-\u{16b36}\u{16f4f}\u{16f8f}-\u{16f92}\u{16fe4}\u{1bc9d}-\u{1bc9e}\u{1cf00}-\u{1cf2d}\u{1cf30}-\u{1cf46}\u{1d127}-\u{1d128}\u{1d159}\u{1d167}-\u{1d169}\u{1d17b}-\u{1d182}\u{1d185}-\u{1d18b}\u{1d1aa}-\u{1d1ad}\u{1d242}-\u{1d244}\u{1d25b}-\u{1d25c}\u{1da00}-\u{1da36}\u{1da3b}-\u{1da6c}\u{1da75}\u{1da84}\u{1da9b}-\u{1da9f}\u{1daa1}-\u{1daaf}\u{1e000}-\u{1e006}\u{1e008}-\u{1e018}\u{1e01b}-\u{1e021}\u{1e023}-\u{1e024}\u{1e026}-\u{1e02a}\u{1e08f}\u{1e130}-\u{1e136}\u{1e2ae}\u{1e2ec}-\u{1e2ef}\u{1e4ec}-\u{1e4ef}\u{1e5ee}-\u{1e5ef}\u{1e6e3}\u{1e6e6}\u{1e6ee}-\u{1e6ef}\u{1e6f5}\u{1e8d0}-\u{1e8d6}\u{1e944}-\u{1e94a}\u{e0100}-\u{e01ef}";
const LOST_IN_PATHS: &str = r"\u0023\u0025\u002f\u003f\u005c\ufffd";
const JOINING: &str = "\\u0300-\\u036f\\u0483-\\u0489\\u0591-\\u05bd\\u064b-\\u065f\\u0670\\u1ab0-\\u1ace\\u1dc0-\\u1dff\\u200c-\\u200d\\u20d0-\\u20f0\\u302a-\\u302f\\u3099-\\u309a\\ufe00-\\ufe0f\\ufe20-\\ufe2f\u{1f3fb}-\u{1f3ff}\u{e0100}-\u{e01ef}";
const REFUSED_IN_TEXTS: &str = "\\u0000-\\u0008\\u000b-\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u17b4-\\u17b5\\u202a-\\u202e\\u2060-\\u206f\\ue000-\\uf8ff\\ufdd0-\\ufdef\\ufeff\\ufff0-\\ufffb\\ufffe-\\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{1fffe}-\u{1ffff}\u{2fffe}-\u{2ffff}\u{3fffe}-\u{3ffff}\u{4fffe}-\u{4ffff}\u{5fffe}-\u{5ffff}\u{6fffe}-\u{6ffff}\u{7fffe}-\u{7ffff}\u{8fffe}-\u{8ffff}\u{9fffe}-\u{9ffff}\u{afffe}-\u{affff}\u{bfffe}-\u{bffff}\u{cfffe}-\u{cffff}\u{dfffe}-\u{e00ff}\u{e01f0}-\u{e0fff}\u{efffe}-\u{10ffff}";
const REFUSED_IN_NAMES: &str = "\\u0000-\\u001f\\u007f-\\u009f\\u17b4-\\u17b5\\u200b\\u2028-\\u202e\\u2060-\\u206f\\ue000-\\uf8ff\\ufdd0-\\ufdef\\ufeff\\ufff0-\\ufffb\\ufffe-\\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{1fffe}-\u{1ffff}\u{2fffe}-\u{2ffff}\u{3fffe}-\u{3ffff}\u{4fffe}-\u{4ffff}\u{5fffe}-\u{5ffff}\u{6fffe}-\u{6ffff}\u{7fffe}-\u{7ffff}\u{8fffe}-\u{8ffff}\u{9fffe}-\u{9ffff}\u{afffe}-\u{affff}\u{bfffe}-\u{bffff}\u{cfffe}-\u{cffff}\u{dfffe}-\u{e00ff}\u{e01f0}-\u{e0fff}\u{efffe}-\u{10ffff}";

#[cfg(test)]
mod tests {
    use super::super::chars::{self, Sort};
    use super::super::{Bounds, NAME, TEXT};
    use super::*;

    /// The characters for which `member` holds, in the notation of a character class.
    fn class(member: impl Fn(char) -> bool) -> String {
        let escaped = |c: char| match u32::from(c) {
            code @ ..=0xffff => format!("\\u{code:04x}"),
            _ => c.to_string(),
        };
        let mut ranges: Vec<(char, char)> = Vec::new();
        for c in ('\0'..=char::MAX).filter(|c| member(*c)) {
            match ranges.last_mut() {
                // the code points between U+D7FF and U+E000 are not characters
                Some((_, last)) if (*last..=c).nth(1) == Some(c) => *last = c,
                _ => ranges.push((c, c)),
            }
        }
        let range = |(first, last)| match first == last {
            true => escaped(first),
            false => format!("{}-{}", escaped(first), escaped(last)),
        };
        ranges.into_iter().map(range).collect()
    }

    fn refused(bounds: &Bounds) -> String {
        class(|c| chars::sort(c) != Sort::Plain && !(bounds.allowed)(c))
    }

    #[test]
    fn the_classes_agree_with_the_rules() {
        let is_taken =
            |c: char| chars::sort(c) == Sort::Plain || (TEXT.allowed)(c) || c.is_whitespace();
        let unseen = |c| is_taken(c) && !chars::is_seen(c);
        let classes = [
            ("SPACE", SPACE, class(char::is_whitespace)),
            ("UNSEEN", UNSEEN, class(unseen)),
            ("LOST_IN_PATHS", LOST_IN_PATHS, class(chars::is_lost_in_paths)),
            ("JOINING", JOINING, class(chars::joins)),
            ("REFUSED_IN_TEXTS", REFUSED_IN_TEXTS, refused(&TEXT)),
            ("REFUSED_IN_NAMES", REFUSED_IN_NAMES, refused(&NAME)),
        ];
        let wrong = classes.into_iter().filter(|(_, found, right)| found != right);
        let wrong: Vec<String> = wrong
            .map(|(name, _, right)| format!("const {name}: &str = \"{}\";", right.escape_default()))
            .collect();
        assert!(wrong.is_empty(), "these should be:\n{}", wrong.join("\n"));
    }
}
