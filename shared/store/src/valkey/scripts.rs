//! The scripts, each with its own file and header in `lua/`.

use std::sync::LazyLock;

use redis::Script;

macro_rules! script {
    ($name:ident, $file:literal) => {
        pub static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(
                include_str!("lua/_feed.lua"),
                "\n",
                include_str!(concat!("lua/", $file))
            ))
        });
    };
    (plain $name:ident, $file:literal) => {
        pub static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(include_str!(concat!("lua/", $file))));
    };
}

script!(PUSH, "push.lua");
script!(BEGIN, "begin.lua");
script!(COMMIT, "commit.lua");
script!(RELATE, "relate.lua");
script!(READ, "read.lua");
script!(plain DROP, "drop.lua");
script!(plain EXPIRE, "expire.lua");
