use super::*;
use proptest::prelude::*;
use sojourn_core::registry::Value;

/// 20 Mbit/s each way. A packet takes 0.6 ms.
const BASE: u64 = 20_000_000;

/// A rule, and what it is shown: answers of one reflector every 50 ms.
struct Line {
    rule: Autorate,
    now: Time,
    sent_bytes: BothWays<u64>,
    rates: BothWays<f64>,
}

impl Line {
    /// With a baseline that is the least delay, unless `values` say otherwise.
    fn new(values: &[(&str, Value)]) -> Line {
        let mut params = Params::new(&DESCRIPTOR, None);
        for (name, value) in [("baseline_up", Value::Number(0.0)), ("baseline_down", Value::Number(1.0))] {
            params.set(name, value);
        }
        values.iter().for_each(|&(name, value)| params.set(name, value));
        let base = Rate::from_bits_per_second(BASE).unwrap();
        let gateway = Gateway { base: [base; 2], packet_bytes: [1500; 2] };
        let rule = Autorate::new(&params, &gateway).unwrap();
        Line { rule, now: Time::ZERO, sent_bytes: [0; 2], rates: [BASE as f64; 2] }
    }

    /// 50 ms later an answer has come that took so long in each direction, and the shapers were in use to so many percent.
    fn answer(&mut self, delays_ms: BothWays<u64>, load_percent: BothWays<f64>) -> BothWays<f64> {
        self.pass(load_percent);
        let reply = Reply { at: self.now, reflector: 0, delays: delays_ms.map(Span::from_millis) };
        self.step(&[reply])
    }

    /// As `answer`, with the same in both directions; the rate of the first.
    fn alike(&mut self, delay_ms: u64, load_percent: f64) -> f64 {
        let rates = self.answer([delay_ms; 2], [load_percent; 2]);
        assert_eq!(rates[0], rates[1]);
        rates[0]
    }

    fn pass(&mut self, load_percent: BothWays<f64>) {
        self.now += Span::from_millis(50);
        for (sent, (load, rate)) in self.sent_bytes.iter_mut().zip(load_percent.iter().zip(self.rates)) {
            *sent += (load / 100.0 * rate * 0.05 / 8.0).round() as u64;
        }
    }

    fn step(&mut self, replies: &[Reply]) -> BothWays<f64> {
        let seen = Seen { now: self.now, replies, sent_bytes: self.sent_bytes };
        self.rates = self.rule.step(&seen).map(|rate| rate.bits_per_second() as f64);
        self.rates
    }
}

/// To within 1 bit/s, the resolution of a rate.
fn assert_rate(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1.0, "{found} is not {expected}");
}

#[test]
fn the_third_late_answer_of_six_cuts_the_rate_by_how_late_they_are() {
    let mut line = Line::new(&[]);
    (0..12).for_each(|_| assert_eq!(line.alike(20, 0.0), BASE as f64));
    // 40 ms above the baseline: late is from 30 ms and a packet, 30.6 ms.
    assert_eq!([line.alike(60, 0.0), line.alike(60, 0.0)], [BASE as f64; 2]);
    // On average 120 / 6 = 20 ms: the smallest cut.
    assert_rate(line.alike(60, 0.0), 0.99 * 20e6);
    // For 300 ms nothing: the next answer after that is the seventh.
    (0..6).for_each(|_| assert_rate(line.alike(60, 0.0), 19.8e6));
    // A packet takes 0.60606 ms now. (40 - 30.60606) / 30 = 0.313131 of the way from 0.99 to 0.75.
    assert_rate(line.alike(60, 0.0), 19.8e6 * (0.99 - 0.313_131_313 * 0.24));
}

#[test]
fn the_largest_cut_leaves_three_quarters_and_no_rate_is_below_the_least() {
    let mut line = Line::new(&[]);
    (0..12).for_each(|_| assert_eq!(line.alike(20, 0.0), BASE as f64));
    // 150 ms above the baseline in three of six answers: 75 ms on average, beyond 60.6 ms.
    assert_eq!([line.alike(170, 0.0), line.alike(170, 0.0)], [BASE as f64; 2]);
    assert_rate(line.alike(170, 0.0), 15e6);
    let rates: Vec<f64> = (0..70).map(|_| line.alike(170, 0.0)).collect();
    assert_rate(rates[6], 0.75 * 15e6);
    assert_rate(rates[69], 0.25 * 20e6);
}

#[test]
fn high_load_without_late_answers_raises_the_rate_once_for_each_measurement() {
    let mut line = Line::new(&[]);
    // Load is measured at 200 ms; a raise needs 300 ms since the start, as after a cut.
    let rates: Vec<f64> = (0..12).map(|_| line.alike(20, 90.0)).collect();
    rates[..6].iter().for_each(|&rate| assert_rate(rate, 20e6));
    assert_rate(rates[6], 20.8e6);
    // The measurement at 400 ms, the one at 600 ms, and between them nothing.
    assert_rate(rates[7], 20.8e6 * 1.04);
    rates[8..11].iter().for_each(|&rate| assert_rate(rate, 20.8e6 * 1.04));
    assert_rate(rates[11], 20.8e6 * 1.04 * 1.04);
    let highest = (0..400).map(|_| line.alike(20, 90.0)).fold(0.0, f64::max);
    assert_rate(highest, 80e6);
}

#[test]
fn a_raise_is_smaller_the_later_the_answers_are() {
    let mut line = Line::new(&[]);
    assert_eq!(line.alike(20, 90.0), BASE as f64);
    // 20 ms above in the last five and 0 in the first of six: 100 / 6 ms; from 10.6 to 30.6 ms that is 0.303333 of the way.
    (0..5).for_each(|_| assert_rate(line.alike(40, 90.0), 20e6));
    // 350 ms: the first answer has left the window, so that they are 20 ms above: 0.47 of the way.
    assert_rate(line.alike(40, 90.0), 20e6 * (1.04 - 0.47 * 0.04));
}

#[test]
fn load_counts_in_whole_percents_of_which_more_than_75_are_high() {
    let rate = |load| {
        let mut line = Line::new(&[]);
        (0..8).map(|_| line.alike(20, load)).last().unwrap()
    };
    assert_eq!(rate(75.9), 20e6);
    // Once: of the new rate it is less.
    assert_rate(rate(76.1), 20.8e6);
}

#[test]
fn at_low_load_the_rate_returns_to_its_base_a_percent_each_second() {
    let mut line = Line::new(&[]);
    let raised = (0..12).map(|_| line.alike(20, 90.0)).last().unwrap();
    assert_rate(raised, 20e6 * 1.04f64.powi(3));
    // Two answers until the load is measured as low do nothing. The last raise was at 600 ms; an answer more than 1 s later.
    let rates: Vec<f64> = (0..400).map(|_| line.alike(20, 0.0)).collect();
    rates[..20].iter().for_each(|&rate| assert_rate(rate, raised));
    assert_rate(rates[20], raised * 0.99);
    rates[20..41].iter().for_each(|&rate| assert_rate(rate, raised * 0.99));
    assert_rate(rates[41], raised * 0.99 * 0.99);
    assert_rate(rates[399], 20e6);
    // From below: the window still has three late answers 300 ms after the first cut.
    let mut line = Line::new(&[]);
    (0..6).for_each(|_| assert_eq!(line.alike(20, 0.0), BASE as f64));
    let rates: Vec<f64> = (0..9).map(|_| line.alike(220, 0.0)).collect();
    assert_rate(rates[8], 15e6);
    let rates: Vec<f64> = (0..1300).map(|_| line.alike(20, 0.0)).collect();
    rates[..21].iter().for_each(|&rate| assert_rate(rate, 11.25e6));
    assert_rate(rates[21], 11.25e6 * 1.01);
    assert_rate(rates[42], 11.25e6 * 1.01 * 1.01);
    assert_rate(rates[1299], 20e6);
}

#[test]
fn without_answers_nothing_changes() {
    let mut line = Line::new(&[]);
    let raised = (0..12).map(|_| line.alike(20, 90.0)).last().unwrap();
    for _ in 0..200 {
        line.pass([0.0; 2]);
        assert_rate(line.step(&[])[0], raised);
    }
}

#[test]
fn the_round_trip_blames_both_directions_and_one_way_delays_the_one() {
    let cut = |delays: Delays| {
        let mut line = Line::new(&[("delays", delays.value())]);
        (0..12).for_each(|_| assert_eq!(line.answer([20, 20], [0.0; 2]), [20e6; 2]));
        (0..3).map(|_| line.answer([120, 20], [0.0; 2])).last().unwrap()
    };
    // Half of 100 ms in both, three of six: 25 ms on average.
    assert_eq!(cut(Delays::RoundTrip), [19.8e6; 2]);
    // 50 ms on average in one: (50 - 30.6) / 30 of the way to the largest cut.
    let [there, back] = cut(Delays::OneWay);
    assert_rate(there, 20e6 * (0.99 - 19.4 / 30.0 * 0.24));
    assert_eq!(back, 20e6);
}

#[test]
fn a_baseline_falls_fast_and_rises_slowly_for_each_reflector() {
    let own = [("baseline_up", Value::Number(0.001)), ("baseline_down", Value::Number(0.9))];
    let mut line = Line::new(&own);
    line.alike(20, 0.0);
    assert!((line.rule.baselines[0][0] - 0.028).abs() < 1e-12);
    line.alike(128, 0.0);
    assert!((line.rule.baselines[0][0] - 0.0281).abs() < 1e-12);
    line.now += Span::from_millis(50);
    line.step(&[Reply { at: line.now, reflector: 2, delays: [Span::from_millis(50); 2] }]);
    let baselines: Vec<f64> = line.rule.baselines.iter().map(|baseline| (baseline[1] * 1e6).round() / 1e6).collect();
    assert_eq!(baselines, [0.0281, 0.1, 0.055]);
}

#[test]
fn more_late_answers_than_the_window_has_are_refused() {
    let mut params = Params::new(&DESCRIPTOR, None);
    params.set("late_answers", Value::Integer(7));
    let base = Rate::from_bits_per_second(BASE).unwrap();
    let error = Autorate::new(&params, &Gateway { base: [base; 2], packet_bytes: [1500; 2] }).unwrap_err();
    assert_eq!((error.parameter, error.rule.as_str()), ("late_answers", "at most 6, the answers in the window"));
}

proptest! {
    /// Whatever comes, rates stay within their bounds, and the same leads to the same.
    #[test]
    fn rates_keep_their_bounds(answers in prop::collection::vec((0u64..2_000, 0.0f64..100.0, 0u32..4), 1..300)) {
        let run = || {
            let mut line = Line::new(&[]);
            let mut all = Vec::new();
            for &(delay_ms, load, replies) in &answers {
                line.pass([load; 2]);
                let delays = [Span::from_millis(delay_ms), Span::ZERO];
                let replies: Vec<_> = (0..replies).map(|reflector| Reply { at: line.now, reflector, delays }).collect();
                all.push(line.step(&replies));
            }
            all
        };
        let all = run();
        prop_assert!(all.iter().flatten().all(|rate| (5e6..=80e6).contains(rate)));
        prop_assert_eq!(all, run());
    }
}
