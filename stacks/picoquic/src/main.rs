//! Connections of picoquic behind a scenario's path, in virtual time; prints the run's record as JSON.
//!
//! `sojourn-stack-picoquic SCENARIO [SEED]`, as for all stacks of Sojourn. The program is `glue.c`, with its `main`, as one in C
//! would be; cargo links it to the library behind Sojourn's C header, which is all that this file asks for.
#![no_main]

use sojourn_endpoint_c as _;
