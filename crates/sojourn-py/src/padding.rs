//! `sojourn._native.Padding`: the simulation's controller and pacer for a program with sockets.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_core::{Span, Time};
use sojourn_padding::{Config, Controller, Pacer};

#[pyclass]
pub struct Padding {
    controller: Controller,
    pacer: Pacer,
}

#[pymethods]
impl Padding {
    #[new]
    fn new(target_s: f64, most_pps: f64, now_s: f64) -> PyResult<Padding> {
        let target = span(target_s, "target_s")?;
        if target == Span::ZERO {
            return Err(PyValueError::new_err("target_s is 0; it is above 0"));
        }
        let config = Config { target, most: rate(most_pps)?, duty: 1.0 };
        Ok(Padding { controller: Controller::new(config, time(now_s)?), pacer: Pacer::new(0.0, None) })
    }

    fn bound(&mut self, most_pps: f64) -> PyResult<()> {
        self.controller.bound(rate(most_pps)?);
        Ok(())
    }

    fn know_base(&mut self, rtt_s: f64) -> PyResult<()> {
        self.controller.know_base(span(rtt_s, "rtt_s")?);
        Ok(())
    }

    fn on_answer(&mut self, rtt_s: f64) -> PyResult<()> {
        self.controller.on_answer(span(rtt_s, "rtt_s")?);
        Ok(())
    }

    fn on_time(&mut self, now_s: f64) -> PyResult<()> {
        let now = time(now_s)?;
        self.controller.on_time(now);
        self.pacer.change(self.controller.rate(), self.controller.bursts(), now);
        Ok(())
    }

    fn due(&mut self, now_s: f64) -> PyResult<bool> {
        Ok(self.pacer.due(time(now_s)?))
    }

    #[getter]
    fn next_s(&self) -> f64 {
        let next = self.pacer.next().min(self.controller.deadline());
        next.as_secs_f64()
    }

    #[getter]
    fn rate_pps(&self) -> f64 {
        self.controller.rate()
    }

    #[getter]
    fn rests(&self) -> u64 {
        self.controller.rests()
    }
}

fn span(seconds: f64, what: &str) -> PyResult<Span> {
    if seconds.is_finite() && seconds >= 0.0 {
        Ok(Span::from_secs_f64(seconds))
    } else {
        Err(PyValueError::new_err(format!("{what} is {seconds}; it is not below 0")))
    }
}

fn rate(most_pps: f64) -> PyResult<f64> {
    if most_pps.is_finite() && most_pps >= 0.0 {
        Ok(most_pps)
    } else {
        Err(PyValueError::new_err(format!("most_pps is {most_pps}; it is not below 0")))
    }
}

fn time(now_s: f64) -> PyResult<Time> {
    Ok(Time::ZERO + span(now_s, "now_s")?)
}
