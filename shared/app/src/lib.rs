//! The use cases of Fanfold, named by the nouns of the product. They do not depend on HTTP or Lambda: web handlers,
//! workers and operators' commands call the same functions.
//!
//! | module | use cases |
//! | --- | --- |
//! | [`posts`] | publish, read and delete a post; read its delivery status |
//! | [`profiles`] | create, change and find a profile |
//! | [`relations`] | follow, unfollow, list followers and followed users; apply a changed relation to a feed |
//! | [`likes`] | like a post, list who likes a post and what a user likes; count likes |
//! | [`timeline`] | read a page of a home or author feed |
//! | [`present`] | turn ids into what a viewer sees, and fill pages |
//! | [`fanout`] | deliver a post to its author's followers |
//! | [`rebuild`] | rebuild a feed that a reader queued, or the feeds of one user |
//! | [`sweep`] | drop feeds that nobody reads, and forget old relations |
//! | [`audit`] | compare live feeds with DynamoDB, and rebuild those that differ |
//! | [`due`] | scheduled posts and timers, and the look-ahead that finds what is due |
//! | [`webhook`] | post the timers that were due to the operator's address |
//! | [`boards`] | boards: their settings, scores and ranks |
//! | [`rankings`] | posts by likes, and authors by likes |
//! | [`erase`] | remove everything that belongs to a user |
//! | [`doctor`] | check the assumptions about Valkey, DynamoDB, SQS and clocks |
//! | [`memory`] | ignore the present data in Valkey, so that every feed is rebuilt |
//! | [`announce`] | send an event before its commit |
//! | [`limit`] | limit how often a user may write |
//! | [`error`] | the reasons why a use case refuses a request |

pub mod announce;
pub mod audit;
pub mod boards;
pub mod count;
pub mod doctor;
pub mod due;
pub mod erase;
pub mod error;
pub mod fanout;
mod graph;
pub mod likes;
pub mod limit;
pub mod memory;
mod orders;
pub mod posts;
pub mod present;
pub mod profiles;
pub mod rankings;
pub mod rebuild;
pub mod relations;
pub mod sweep;
pub mod timeline;
pub mod webhook;

pub use error::Error;
