//! The scripts, each with its own file and header in `lua/`.

use std::sync::LazyLock;

use redis::Script;

macro_rules! script {
    ($name:ident, writes $file:literal) => {
        pub static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(
                include_str!("lua/_feed.lua"),
                "\n",
                include_str!(concat!("lua/", $file))
            ))
        });
    };
    ($name:ident, $file:literal) => {
        pub static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(include_str!(concat!("lua/", $file))));
    };
}

script!(PUSH, writes "push.lua");
script!(COMMIT, writes "commit.lua");
script!(RELATE, writes "relate.lua");
script!(READ, "read.lua");
script!(BEGIN, "begin.lua");
script!(EXPIRE, "expire.lua");
