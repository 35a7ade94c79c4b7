//! Which files of a crate use each other, read from their texts.
//!
//! A file uses the file that declares a name. It may name it in a `use` line or in a path, or call a method of an `impl`
//! block there. A re-exported name is followed to its file, and a re-export alone is no use.

use std::collections::{BTreeMap, BTreeSet};

/// The names that lead to a file, such as `fanout` and `cut`. The root of a crate has none.
pub type Module = Vec<String>;

/// Methods of the standard library's collections that the project uses as names, too.
const COLLECTIONS: [&str; 5] = ["get", "insert", "pop", "push", "remove"];

/// The files of a crate.
pub struct Files(BTreeMap<Module, File>);

#[derive(Default)]
struct File {
    /// The names that `use` lines bring into the file, with their paths.
    names: BTreeMap<String, Vec<String>>,
    /// The code without `use` lines, as words and signs.
    words: Vec<String>,
}

impl Files {
    pub fn of(texts: impl IntoIterator<Item = (Module, String)>) -> Self {
        Self(texts.into_iter().map(|(module, text)| (module, File::of(&text))).collect())
    }

    /// The files that go in circles, each with those of them that it uses.
    pub fn circles(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let mut left: BTreeMap<Module, BTreeSet<Module>> =
            self.0.keys().map(|from| (from.clone(), self.arrows(from))).collect();
        // takes away files that use nothing that is left, and files that nothing left uses
        loop {
            let before = left.len();
            let used: BTreeSet<Module> = left.values().flatten().cloned().collect();
            left.retain(|from, _| used.contains(from));
            let from: BTreeSet<Module> = left.keys().cloned().collect();
            left.values_mut().for_each(|to| to.retain(|to| from.contains(to)));
            left.retain(|_, to| !to.is_empty());
            if left.len() == before {
                return left;
            }
        }
    }

    fn arrows(&self, from: &Module) -> BTreeSet<Module> {
        let file = &self.0[from];
        let used = file.names.iter().filter(|(name, _)| file.uses(name));
        let named = used.map(|(_, path)| path.clone()).chain(file.paths());
        let named = named.filter_map(|path| self.home(from, &path));
        let called = file.words.windows(3).filter_map(|words| match words {
            [dot, name, open] if dot == "." && open == "(" => self.home_of_method(from, name),
            _ => None,
        });
        named.chain(called).filter(|to| to != from).collect()
    }

    /// The file that declares what a path in a file leads to. `None`: it is in another crate.
    fn home(&self, from: &Module, path: &[String]) -> Option<Module> {
        let (mut at, mut rest) = (from.clone(), path);
        match path.first()?.as_str() {
            "crate" => (at, rest) = (Module::new(), &path[1..]),
            "self" | "super" => {}
            child => drop(self.0.get(&[&at[..], &[child.to_owned()]].concat())?),
        }
        while let [name, after @ ..] = rest {
            match name.as_str() {
                "self" => {}
                "super" => drop(at.pop()),
                _ => {
                    let further = [&at[..], std::slice::from_ref(name)].concat();
                    if !self.0.contains_key(&further) {
                        break;
                    }
                    at = further;
                }
            }
            rest = after;
        }
        match rest.first().and_then(|name| self.0[&at].names.get(name)) {
            Some(path) if at != *from => self.home(&at, path),
            _ => Some(at),
        }
    }

    /// The file with this method, if it is in a block for a type of another file. A name that several functions have, or
    /// the standard library's collections, does not tell which of them is called.
    fn home_of_method(&self, from: &Module, name: &str) -> Option<Module> {
        if COLLECTIONS.contains(&name) {
            return None;
        }
        let mut homes = self.0.iter().filter(|(_, file)| file.declares("fn", name));
        let (home, file) = homes.next()?;
        let is_seen = from.starts_with(home) || !file.declares_private(name);
        let is_it = homes.next().is_none() && is_seen && file.methods().contains(name);
        is_it.then(|| home.clone())
    }
}

impl File {
    fn of(text: &str) -> Self {
        let mut file = Self::default();
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut words = words(product).into_iter();
        while let Some(word) = words.next() {
            if word == "enum" {
                file.words.push(word);
                file.add_fields(&mut words);
            } else if word == "use" {
                let tree: Vec<String> = words.by_ref().take_while(|word| word != ";").collect();
                file.bring(&[], &tree);
            } else {
                file.words.push(word);
            }
        }
        file
    }

    /// Adds the words of an `enum`, without the names of its variants, which are no uses.
    fn add_fields(&mut self, words: &mut impl Iterator<Item = String>) {
        let mut depth = 0_usize;
        for word in words {
            let (opens, closes) = (["(", "{"].contains(&&*word), [")", "}"].contains(&&*word));
            depth = depth.saturating_sub(usize::from(closes));
            let ends = closes && depth == 0;
            if depth != 1 {
                self.words.push(word);
            }
            if ends {
                return;
            }
            depth += usize::from(opens);
        }
    }

    /// Adds the names of a `use` tree below a path.
    fn bring(&mut self, path: &[String], tree: &[String]) {
        let open = tree.iter().position(|word| word == "{");
        let Some(open) = open else {
            let own = tree.iter().take_while(|word| *word != "as");
            let path: Vec<String> =
                path.iter().chain(own).filter(|w| *w != "::").cloned().collect();
            let name = tree.last().filter(|name| *name != "self").or(path.last()).cloned();
            self.names.extend(name.map(|name| (name, path)));
            return;
        };
        let path = [path, &tree[..open]].concat();
        let (mut depth, mut start) = (0, open + 1);
        for (at, word) in tree.iter().enumerate().skip(open) {
            match word.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            let ends = (word == "," && depth == 1) || depth == 0;
            if ends && start < at {
                self.bring(&path, &tree[start..at]);
            }
            if ends {
                start = at + 1;
            }
        }
    }

    /// The paths in the code.
    fn paths(&self) -> impl Iterator<Item = Vec<String>> {
        let separates = |word: Option<&String>| word.is_some_and(|word| word == "::");
        let starts = (0..self.words.len()).filter(move |at| {
            let before = at.checked_sub(1).and_then(|at| self.words.get(at));
            separates(self.words.get(at + 1)) && !separates(before)
        });
        let paths = starts.map(|start| {
            let mut path = vec![self.words[start].clone()];
            for pair in self.words[start + 1..].chunks(2) {
                match pair {
                    [colons, name] if colons == "::" && name != "<" => path.push(name.clone()),
                    _ => break,
                }
            }
            path
        });
        // a single name is that of a generic function, which a `use` line names
        paths.filter(|path| path.len() > 1)
    }

    /// Whether the code has a name, other than behind a path or a dot.
    fn uses(&self, name: &str) -> bool {
        let behind = |at: usize| ["::", "."].contains(&self.words[at].as_str());
        let mut places = (0..self.words.len()).filter(|at| self.words[*at] == name);
        places.any(|at| !at.checked_sub(1).is_some_and(behind))
    }

    /// Whether a function is private, so that only this file and those below it can call it.
    fn declares_private(&self, name: &str) -> bool {
        let place = self.words.windows(2).position(|words| words[0] == "fn" && words[1] == name);
        let before = self.words[..place.unwrap_or_default()].iter().rev();
        let first = before.clone().find(|word| *word != "async" && *word != "const");
        first.is_none_or(|word| word != "pub" && word != ")")
    }

    fn declares(&self, what: &str, name: &str) -> bool {
        self.words.windows(2).any(|words| words[0] == what && words[1] == name)
    }

    /// The functions of `impl` blocks for types of other files.
    fn methods(&self) -> BTreeSet<&str> {
        let mut methods = BTreeSet::new();
        for (at, _) in self.words.iter().enumerate().filter(|(_, word)| *word == "impl") {
            let block = &self.words[at + 1..];
            let Some(open) = block.iter().position(|word| word == "{" || word == "for") else {
                continue;
            };
            let own = ["struct", "enum", "trait"];
            let is_own =
                block[..open].iter().any(|name| own.iter().any(|own| self.declares(own, name)));
            if block[open] == "for" || is_own {
                continue;
            }
            let mut depth = 0;
            for words in block[open..].windows(2) {
                match words[0].as_str() {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    "fn" => drop(methods.insert(words[1].as_str())),
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
        methods
    }
}

/// The words and signs of a text, without comments and texts in quotation marks.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let is_word = |char: char| char.is_alphanumeric() || char == '_';
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => quoted(rest),
            '\'' if rest.starts_with("'\"'") => 3,
            ':' if rest.starts_with("::") => 2,
            _ if is_word(first) => rest.find(|char| !is_word(char)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        if !first.is_whitespace() && !word.starts_with("//") && !word.starts_with(['"', '\'']) {
            words.push(word.to_owned());
        }
        rest = after;
    }
    words
}

/// The length of a text in quotation marks.
fn quoted(text: &str) -> usize {
    let mut escaped = true;
    let end = text.char_indices().find(|(_, char)| {
        let ends = *char == '"' && !escaped;
        escaped = *char == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(texts: &[(&str, &str)]) -> Vec<String> {
        let module = |path: &str| {
            path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let files = Files::of(texts.iter().map(|(path, text)| (module(path), (*text).to_owned())));
        files.circles().keys().map(|module| module.join("/")).collect()
    }

    const ROOT: (&str, &str) =
        ("", "//! A crate.\npub mod a;\npub mod b;\npub use a::{A as First, Other};");

    #[test]
    fn files_that_use_each_other_by_name_are_a_circle() {
        let a = ("a", "use crate::b::{self, B};\npub struct A(B);");
        assert_eq!(
            circles(&[ROOT, a, ("b", "use crate::a::A;\npub struct B(Option<Box<A>>);")]),
            ["a", "b"]
        );
        assert_eq!(
            circles(&[ROOT, a, ("b", "pub struct B(Option<Box<super::a::A>>);")]),
            ["a", "b"]
        );
        assert_eq!(
            circles(&[ROOT, a, ("b", "// crate::a::A\npub const B: &str = \"crate::a::A\";")]),
            [""; 0]
        );
    }

    #[test]
    fn a_name_that_the_root_passes_on_leads_to_its_file() {
        let a = ("a", "pub struct A;\nfn f() { crate::b::f() }");
        assert_eq!(
            circles(&[ROOT, a, ("b", "use crate::First;\npub fn f(_: First) {}")]),
            ["a", "b"]
        );
        // the root passes names on, and uses none of them
        assert_eq!(circles(&[ROOT, ("a", "use crate::f;"), ("b", "pub fn f() {}")]), [""; 0]);
    }

    #[test]
    fn a_module_and_a_file_in_it_can_be_a_circle() {
        let form =
            ("store/form", "use super::{Item, number};\npub fn changed(_: Item) { number() }");
        let store = |uses| ("store", uses);
        let with =
            "mod form;\npub use form::changed;\npub type Item = u8;\nfn number() { changed(0) }";
        assert_eq!(circles(&[store(with), form]), ["store", "store/form"]);
        let passes_on = "mod form;\npub use form::changed;\npub type Item = u8;\nfn number() {}";
        assert_eq!(circles(&[store(passes_on), form]), [""; 0]);
    }

    #[test]
    fn a_variant_and_a_private_function_of_the_same_name_are_no_uses() {
        let write = ("posts/write", "use super::Post;\npub enum Deleted { Done(Post) }");
        let posts = "mod write;\npub use write::Deleted;\npub struct Post;\nenum State { Deleted, Live(Post) }";
        assert_eq!(circles(&[("posts", posts), write]), [""; 0]);
        let posts = posts.replace("Live(Post)", "Live(Deleted)");
        assert_eq!(circles(&[("posts", &posts), write]), ["posts", "posts/write"]);
        let cut = "use crate::push::push;\nimpl crate::App {\n    fn send(&self) { push() }\n}";
        let push = ("push", "pub fn push() { queue().send() }");
        assert_eq!(circles(&[("", "pub struct App;"), ("cut", cut), push]), [""; 0]);
    }

    #[test]
    fn methods_of_a_type_in_several_files_are_uses() {
        let dispatch =
            ("dispatch", "pub struct Dispatch;\nfn whole(app: &Dispatch) { app.cut_part() }");
        let cut = (
            "cut",
            "use crate::dispatch::Dispatch;\nimpl Dispatch {\n    pub(crate) fn cut_part(&self) {}\n}",
        );
        assert_eq!(circles(&[dispatch, cut]), ["cut", "dispatch"]);
        // with the type below both, there is none
        let below = ("app", "pub struct Dispatch;");
        let dispatch =
            ("dispatch", "use crate::app::Dispatch;\nfn whole(app: &Dispatch) { app.cut_part() }");
        let cut = (
            "cut",
            "use crate::app::Dispatch;\nimpl Dispatch {\n    pub(crate) fn cut_part(&self) {}\n}",
        );
        assert_eq!(circles(&[below, dispatch, cut]), [""; 0]);
        // the files of feeds: reading rebuilds, and rebuilding reads
        let feeds = (
            "feeds",
            "mod pull;\npub struct Feeds;\nimpl Feeds {\n    fn read_or_rebuild(&self) { self.merge() }\n}",
        );
        let pull = (
            "feeds/pull",
            "use super::Feeds;\nimpl Feeds {\n    pub fn merge(&self) { self.read_or_rebuild() }\n}",
        );
        assert_eq!(circles(&[feeds, pull]), ["feeds", "feeds/pull"]);
    }
}
