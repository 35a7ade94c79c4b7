//! The deployed stack over HTTP. The client compares each answer with the API description.

mod boards;
mod bookmarks;
mod content;
mod delivery;
mod due;
mod edits;
mod export;
mod feeds;
mod likes;
mod logs;
mod operations;
mod pages;
mod posts;
mod rankings;
mod refusals;
mod replies;
mod tags;
mod users;
