//! What several functions read from requests and show in answers. The comments on fields are part of the API description.

pub mod people;
pub mod posts;
