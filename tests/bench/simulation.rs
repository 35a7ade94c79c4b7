//! The simulation's DynamoDB and SQS in memory. `simulation::likeness`, among the tests, holds its
//! answers against the local cloud's.
#![allow(dead_code, reason = "the simulation uses more of it")]

#[path = "../stack/simulation/cloud.rs"]
pub mod cloud;
#[path = "../stack/simulation/expression.rs"]
pub mod expression;
#[path = "../stack/simulation/units.rs"]
pub mod units;
