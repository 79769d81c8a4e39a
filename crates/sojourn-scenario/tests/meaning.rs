//! What a valid file means: defaults, short forms, presets, overrides, files.

use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span};
use sojourn_scenario::{Base, Bulk, Capacity, Direction, Moments, Scenario, Shape, Stack, Traffic};
use std::path::{Path, PathBuf};

const SMALL: &str = r#"
duration = "60 s"
bottleneck.rate = "10 Mbit/s"
group = [{ name = "tcp", control = "newreno", rtt = "50 ms" }]
"#;

fn parse(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|&text| text.to_owned()).collect();
    let loaded = Scenario::parse(text, Some("folder/small.toml"), &Base::Nowhere, &overrides);
    loaded.unwrap_or_else(|problems| panic!("{problems}")).scenario
}

#[test]
fn a_small_file_gets_all_defaults() {
    let scenario = parse(SMALL, &[]);
    assert_eq!(scenario.name, "small", "the file's stem");
    assert_eq!((scenario.warmup, scenario.seed, scenario.runs), (Span::ZERO, 1, 1));
    assert!(scenario.reverse.is_none() && scenario.hops.is_empty());
    let link = &scenario.bottleneck;
    assert_eq!((link.delay, link.loss, link.jitter), (Span::ZERO, 0.0, None));
    assert_eq!(link.queue.descriptor().name, "droptail");
    let group = &scenario.groups[0];
    assert_eq!((group.flows, group.direction, group.stop.is_none()), (1, Direction::Forward, true));
    assert_eq!(group.rtt, [Span::from_millis(50)]);
    assert_eq!(group.title, None);
    assert_eq!(group.start, Moments::At(vec![Span::ZERO]));
    assert_eq!(group.traffic, Traffic::Bulk(Bulk { size_bytes: None }));
    assert_eq!(group.transport.get("sack"), Value::Choice("true"), "the preset rfc");
}

/// Of the words of a choice, `true` and `false` are flags in a file, and so they are in a record.
#[test]
fn words_of_a_choice_may_be_flags() {
    for (given, word) in [("true", "true"), ("false", "false"), ("'accurate'", "accurate")] {
        let scenario = parse(SMALL, &[&format!("group.tcp.transport.ecn={given}")]);
        assert_eq!(scenario.groups[0].transport.get("ecn"), Value::Choice(word));
        let written = scenario.to_json();
        let said = &written["group"][0]["transport"]["ecn"];
        assert_eq!(said.to_string().trim_matches('"'), word);
        assert_eq!(said.is_boolean(), word != "accurate");
        let again = parse(&scenario.to_toml(), &[]);
        assert_eq!(again.groups[0].transport, scenario.groups[0].transport);
    }
}

#[test]
fn a_control_takes_the_preset_of_its_transport_unless_it_has_its_own() {
    let count = |overrides: &[&str]| {
        parse(SMALL, overrides).groups[0].control.clone().expect("it has one").read::<&str>("count")
    };
    assert_eq!(count(&[]), "segments");
    assert_eq!(count(&["group.tcp.transport=ns2"]), "acks");
    assert_eq!(count(&["group.tcp.transport={preset = 'ns2', sack = true}"]), "acks");
    assert_eq!(count(&["group.tcp.transport=ns2", "group.tcp.control.preset=rfc"]), "segments");
    assert_eq!(count(&["group.tcp.transport=ns2", "group.tcp.control.count=segments"]), "segments");
}

#[test]
fn parameters_go_over_presets_and_presets_over_defaults() {
    let queue = |value: &str| parse(SMALL, &[&format!("bottleneck.queue={value}")]).bottleneck.keys.queue;
    let limit = |value: &str| queue(value).read::<Amount>("limit");
    assert_eq!(limit("droptail"), Amount::Packets(1000.0));
    assert_eq!(limit("{preset = 'ns2'}"), Amount::Packets(50.0));
    assert_eq!(limit("{preset = 'ns2', limit = '64 KiB'}"), Amount::Bytes(65536.0));
    assert_eq!(limit("{limit = '20 ms'}"), Amount::Time(Span::from_millis(20)));
    assert_eq!(queue("{preset = 'ns2', limit = '64 KiB'}").read::<u64>("reserve"), 1);
}

#[test]
fn short_forms_mean_their_tables() {
    let same = |one: &str, other: &str| assert_eq!(parse(SMALL, &[one]).to_toml(), parse(SMALL, &[other]).to_toml());
    same("bottleneck.jitter=10 ms", "bottleneck.jitter={kind = 'uniform', max = '10 ms'}");
    same("bottleneck.queue=red", "bottleneck.queue={kind = 'red'}");
    same("group.tcp.traffic=on-off", "group.tcp.traffic={kind = 'on-off', on = '1 s', off = '1 s'}");
    same("group.tcp.transport=linux", "group.tcp.transport={preset = 'linux'}");
    same("group.tcp.start=5 s", "group.tcp.start=['5 s']");
    same("group.tcp.dscp=le", "group.tcp.dscp=1");
    same("group.tcp.traffic={kind = 'on-off', off = '0 s'}", "group.tcp.traffic=bulk");
}

#[test]
fn links_and_groups_hold_what_the_file_says() {
    let text = r#"
        name = "everything"
        duration = "1 min"
        warmup = "0.1 s"
        bottleneck = { trace = "ready:synthetic-lte", delay = "1.5 ms", loss = 0.25 }
        reverse = { rate = "854 kbit/s", jitter = { kind = "normal", mean = "5 ms", sd = "1 ms", reorder = true } }
        hop = [{ name = "gateway", at = "after", direction = "reverse", rate = "1 Gbit/s", queue = "droptail" }]
        [[group]]
        name = "many"
        control = "newreno"
        flows = 3
        rtt = ["10 ms", "20 ms", "30 ms"]
        start = { uniform = ["0 s", "100 ms"] }
        stop = "30 s"
        access_rate = "100 Mbit/s"
        hosts = 2
        clock_offset = "-5 s"
        clock_skew_ppm = -100
        traffic = { kind = "bulk", size = "1.5 MB" }
        [[group]]
        name = "voice"
        rtt = "10 ms"
        direction = "reverse"
        dscp = "ef"
        traffic = { kind = "cbr", rate = "64 kbit/s", packet = "200 B" }
    "#;
    let scenario = parse(text, &[]);
    assert_eq!((scenario.duration, scenario.warmup), (Span::from_secs(60), Span::from_millis(100)));
    let Capacity::Recorded(trace) = &scenario.bottleneck.capacity() else { panic!("a trace") };
    assert_eq!((trace.name.as_str(), trace.period()), ("ready:synthetic-lte", Span::from_secs(60)));
    let jitter = scenario.reverse.as_ref().expect("given").jitter.expect("given");
    assert_eq!(jitter.shape, Shape::Normal(Span::from_millis(5), Span::from_millis(1)));
    assert!(jitter.reorder);
    assert_eq!(scenario.hops[0].direction, Direction::Reverse);
    let many = &scenario.groups[0];
    assert_eq!(many.rtt[2], Span::from_millis(30));
    assert_eq!(many.start, Moments::Uniform(Span::ZERO, Span::from_millis(100)));
    assert_eq!((many.clock_offset_nanos, many.clock_skew_ppm), (-5_000_000_000, -100.0));
    assert_eq!((many.hosts, many.receiver_hosts), (Some(2), None));
    assert_eq!(many.traffic, Traffic::Bulk(Bulk { size_bytes: Some(1_500_000) }));
    let voice = &scenario.groups[1];
    assert!(voice.control.is_none());
    assert_eq!(voice.dscp.number(), 46);
    assert_eq!(scenario.largest_packet_bytes(), 1500);
}

#[test]
fn overrides_address_by_name_and_by_place() {
    for key in ["group.tcp.flows", "group.0.flows"] {
        assert_eq!(parse(SMALL, &[&format!("{key}=7")]).groups[0].flows, 7);
    }
    let hop = "hop=[{name = 'gateway', at = 'before', rate = '1 Mbit/s'}]";
    let scenario = parse(SMALL, &[hop, "hop.gateway.loss=0.5", "hop.0.rate=2Mbit/s"]);
    assert_eq!(scenario.hops[0].link.loss, 0.5);
    assert_eq!(scenario.hops[0].link.capacity().mean_rate().bits_per_second(), 2_000_000);
    let scenario = parse(SMALL, &["group.tcp.flows=2", "group.tcp.flows=3", "name=a name"]);
    assert_eq!((scenario.groups[0].flows, scenario.name.as_str()), (3, "a name"), "the last one counts");
    let scenario = parse(SMALL, &["group.tcp.start.uniform=['0 s', '1 s']"]);
    assert_eq!(scenario.groups[0].start, Moments::Uniform(Span::ZERO, Span::from_secs(1)));
}

#[test]
fn json_means_the_same_and_null_is_absent() {
    let json = r#"{"duration": "60 s", "bottleneck": {"rate": "10 Mbit/s", "trace": null},
                   "group": [{"name": "tcp", "control": "newreno", "rtt": "50 ms", "stop": null}]}"#;
    let scenario = Scenario::parse_json(json, None, &Base::Nowhere, &["name=small".to_owned()]);
    assert_eq!(
        scenario.unwrap_or_else(|problems| panic!("{problems}")).scenario.to_toml(),
        parse(SMALL, &[]).to_toml()
    );
}

/// A folder of its own for a test's files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        path
    }
}

fn refusal(path: &Path) -> String {
    let problems = Scenario::load(path, &[]).expect_err("it is refused");
    assert_eq!(problems.list().len(), 1, "{problems}");
    problems.list()[0].message()
}

#[test]
fn traces_lie_beside_the_scenario() {
    let folder = Folder::new("beside");
    folder.file("link.down", b"1\n2\n40\n");
    let path = folder.file("s.toml", SMALL.replace("rate = \"10 Mbit/s\"", "trace = \"link.down\"").as_bytes());
    let loaded = Scenario::load(&path, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(loaded.scenario.name, "s");
    let Capacity::Recorded(trace) = loaded.scenario.bottleneck.capacity() else { panic!("a trace") };
    assert_eq!(trace.opportunities_ms, [1, 2, 40]);
}

#[test]
fn unreadable_files_are_refused() {
    let folder = Folder::new("unreadable");
    assert!(refusal(&folder.0.join("none.toml")).contains("which does not exist"));
    assert!(refusal(&folder.0).contains("which is a folder"));
    let latin = folder.file("latin.toml", b"# one\n# two\nname = \"caf\xe9\"\n");
    assert_eq!(refusal(&latin), "found a byte in line 3 that is not UTF-8; allowed: text in UTF-8");
    let huge = folder.file("huge.toml", b"");
    std::fs::File::options().write(true).open(&huge).and_then(|file| file.set_len(10 << 30)).expect("a sparse file");
    assert_eq!(refusal(&huge), "found a file of 10240 MiB; allowed: a scenario file of at most 8 MiB");
}

#[test]
fn a_trace_of_ten_gigabytes_is_refused_at_once() {
    let folder = Folder::new("huge trace");
    let trace = folder.file("huge.down", b"");
    std::fs::File::options().write(true).open(&trace).and_then(|file| file.set_len(10 << 30)).expect("a sparse file");
    let path = folder.file("s.toml", SMALL.replace("rate = \"10 Mbit/s\"", "trace = \"huge.down\"").as_bytes());
    let start = std::time::Instant::now();
    assert_eq!(refusal(&path), "found \"huge.down\" of 10240 MiB; allowed: a file of at most 64 MiB");
    assert!(start.elapsed().as_millis() < 500);
}

#[test]
fn classes_hold_queues_and_know_their_packets() {
    let text = r#"
    duration = "60 s"
    [bottleneck]
    rate = "10 Mbit/s"
    [bottleneck.queue]
    kind = "wrr"
    [[bottleneck.queue.class]]
    name = "voice"
    dscp = "ef"
    precedence = [6, 7]
    [[bottleneck.queue.class]]
    name = "mine"
    groups = ["b", "c"]
    weight = 3
    queue = { kind = "early", child = "codel" }
    [[bottleneck.queue.class]]
    name = "rest"
    [[group]]
    name = "a"
    flows = 3
    control = "newreno"
    rtt = "50 ms"
    [[group]]
    name = "b"
    control = "newreno"
    rtt = "50 ms"
    [[group]]
    name = "c"
    flows = 2
    control = "newreno"
    rtt = "50 ms"
    "#;
    let classes = |overrides: &[&str]| parse(text, overrides).bottleneck.keys.queue.classes;
    let [voice, mine, rest] = &classes(&[])[..] else { panic!("three classes") };
    assert_eq!(
        (voice.name.as_str(), &voice.members.dscp[..], &voice.members.precedence[..]),
        ("voice", &[46][..], &[6, 7][..])
    );
    let groups: Vec<_> = mine.members.groups.iter().map(|group| (group.name.as_str(), group.flows.clone())).collect();
    assert_eq!(groups, [("b", 3..4), ("c", 4..6)], "flows are numbered in the order of the file");
    assert!(!voice.members.is_rest() && !mine.members.is_rest() && rest.members.is_rest());
    assert_eq!([voice, mine, rest].map(|class| class.params.read::<u64>("weight")), [1, 3, 1]);
    assert_eq!([voice, mine, rest].map(|class| class.queue.descriptor().name), ["droptail", "early", "droptail"]);
    assert_eq!(mine.queue.child.as_ref().map(|child| child.descriptor().name), Some("codel"));

    let changed =
        classes(&["group.a.flows=1", "bottleneck.queue.class.mine.weight=9", "bottleneck.queue.class.0.queue=sfq"]);
    assert_eq!(changed[1].members.groups[1].flows, 2..4, "after overrides");
    assert_eq!((changed[1].params.read::<u64>("weight"), changed[0].queue.descriptor().name), (9, "sfq"));
    let changed = classes(&["bottleneck.queue.class.mine.queue.child.target=20ms"]);
    assert_eq!(changed[1].queue.child.as_ref().map(|child| child.read::<Span>("target")), Some(Span::from_millis(20)));
}

/// A bare word chooses another discipline for the same buffer; a table is all that there is then.
#[test]
fn another_discipline_keeps_the_limit_of_the_buffer() {
    let text = "duration = '1 s'\n[bottleneck]\nrate = '10 Mbit/s'\nqueue = { kind = 'red', preset = 'ns2', limit = '500 packets' }\n\
        [[group]]\nname = 'tcp'\ncontrol = 'newreno'\nrtt = '50 ms'";
    let queue = |overrides: &[&str]| parse(text, overrides).bottleneck.keys.queue;
    let limit = |overrides: &[&str]| queue(overrides).read::<Amount>("limit");
    assert_eq!(limit(&["bottleneck.queue=droptail"]), Amount::Packets(500.0));
    assert_eq!(limit(&["bottleneck.queue=codel", "bottleneck.queue.limit=7 packets"]), Amount::Packets(7.0));
    assert_eq!(limit(&["bottleneck.queue={ kind = 'droptail' }"]), Amount::Packets(1000.0), "the default");
    assert_eq!(limit(&["bottleneck.queue={ kind = 'droptail', preset = 'ns2' }"]), Amount::Packets(50.0));
    assert_eq!(queue(&["bottleneck.queue=cake"]).descriptor().name, "cake", "which has no such parameter");
}

/// LEDBAT's title is NICE's where NICE takes its place; what a title says besides stays.
#[test]
fn a_title_that_names_the_control_follows_it() {
    let text = |title: &str| {
        format!(
            "duration = '1 s'\n[bottleneck]\nrate = '10 Mbit/s'\n[[group]]\nname = 'background'\ntitle = '{title}'\n\
             control = 'ledbat'\nrtt = '50 ms'"
        )
    };
    let title = |written: &str, overrides: &[&str]| {
        parse(&text(written), overrides).groups[0].title.clone().unwrap_or_default()
    };
    assert_eq!(title("LEDBAT", &[]), "LEDBAT");
    assert_eq!(title("LEDBAT", &["group.background.control=nice"]), "nice");
    assert_eq!(title("LEDBAT", &["group.background.control.kind=nice"]), "nice");
    assert_eq!(title("LEDBAT", &["group.background.control.target=25 ms"]), "LEDBAT");
    assert_eq!(title("LEDBAT", &["group.background.control=nice", "group.background.title=mine"]), "mine");
    assert_eq!(title("backups", &["group.background.control=nice"]), "backups");
}

#[test]
fn a_group_of_a_stack_has_the_control_that_the_stack_names() {
    let text = "duration = \"1 s\"\nbottleneck.rate = \"1 Mbit/s\"\n\
                [[group]]\nname = \"quic\"\nrtt = \"20 ms\"\nstack = \"quinn\"\ntraffic = { kind = \"bulk\", size = \"1 MB\" }\n";
    let stack = |overrides: &[&str]| {
        let scenario = parse(text, overrides);
        assert!(scenario.groups[0].control.is_none() && scenario.groups[0].is_outside());
        let again = parse(&scenario.to_toml(), &[]);
        assert_eq!(again.to_toml(), scenario.to_toml());
        scenario.groups[0].stack.clone().expect("it has one")
    };
    let quinn = |control: Option<&str>| Stack { name: "quinn".to_owned(), control: control.map(str::to_owned) };
    assert_eq!(stack(&[]), quinn(None));
    assert_eq!(stack(&["group.quic.control=sojourn:bbr3"]), quinn(Some("sojourn:bbr3")));
}
