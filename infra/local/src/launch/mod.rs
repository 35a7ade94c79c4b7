//! Starts the system.
//!
//! | module | does |
//! | --- | --- |
//! | [`commands`] | `cargo local` and `cargo local exec` |
//! | [`servers`] | Valkey and the local cloud |
//! | [`system`] | the servers, the functions and the deployed stack |
//! | [`build`] | builds the functions |
//! | [`cloud`], [`valkey`] | one server each |
//! | [`ports`] | chooses ports |
//! | [`forward`] | lets containers connect |
//! | [`demo`] | makes demo users, and lets them post, like and follow through the public API |

pub mod build;
pub mod cloud;
mod commands;
pub mod demo;
mod forward;
mod ports;
pub mod servers;
pub mod system;
pub mod valkey;

use std::net::IpAddr;

pub use commands::{exec, up};
pub use demo::Demo;

/// The ports of the system, which listens on 127.0.0.1, and the address for containers.
#[derive(clap::Args)]
pub struct Up {
    /// Port of the API (default: 4270, or the next free one)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Port of the AWS services (default: a free one)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub aws_port: Option<u16>,
    /// Port of Valkey (default: a free one)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub valkey_port: Option<u16>,
    /// Address of the container engine's bridge, often 172.17.0.1, at which containers can connect (for `sam local`)
    #[arg(long, value_name = "ADDRESS")]
    pub containers: Option<IpAddr>,
}

#[derive(clap::Args)]
pub struct Exec {
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}
