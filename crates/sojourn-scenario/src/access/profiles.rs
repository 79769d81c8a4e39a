//! Named access lines: what both directions of a line are set to where a file says nothing else.

/// Keys of a link and their values, written as in a file.
pub type Settings = &'static [(&'static str, &'static str)];

/// An access line.
#[derive(Debug)]
pub struct Profile {
    /// Its name in a scenario file.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Where its values come from.
    pub sources: &'static [&'static str],
    /// The way to the home.
    pub down: Settings,
    /// The way from it; nothing where a medium that stations share carries both.
    pub up: Settings,
    /// The only station, written as the value of `station`, where the medium has any and a file names none.
    pub station: Option<&'static str>,
}

impl Profile {
    /// What all profiles are but for what they say.
    const PLAIN: Profile = Profile { name: "", summary: "", sources: &[], down: &[], up: &[], station: None };
}

const RITE: &str = "RITE deliverable D2.1, section 2.1 (interleaving)";
const BRAUD: &str = "Braud, Heusse, Duda: TCP over Large Buffers (buffers)";
const NETALYZR: &str = "Kreibich, Weaver, Nechaev, Paxson: Netalyzr, IMC 2010 (buffers of 256 KiB are common)";
const OURS: &str = "rates of a common product, chosen here";

/// All profiles, in the order of the documentation.
pub static PROFILES: &[Profile] = &[
    Profile {
        name: "adsl",
        summary: "ADSL at the rates that every modem must reach, PPPoA, RITE's default interleaving",
        sources: &["ITU-T G.992.1 (6144 and 640 kbit/s)", RITE, BRAUD],
        down: &[
            ("rate", "6144 kbit/s"),
            ("framing", "pppoa-vcmux"),
            ("protection", "{ kind = \"interleaving\", preset = \"default-down\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"60 packets\" }"),
        ],
        up: &[
            ("rate", "640 kbit/s"),
            ("framing", "pppoa-vcmux"),
            ("protection", "{ kind = \"interleaving\", preset = \"fast\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"30 packets\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "adsl-braud",
        summary: "the ADSL line of the paper's Table I: 3815 and 854 kbit/s of cells, an uplink buffer of 30 packets",
        sources: &[BRAUD, "PPPoA and no interleaving, which the paper does not tell, chosen here"],
        down: &[
            ("rate", "3815 kbit/s"),
            ("framing", "pppoa-vcmux"),
            ("protection", "{ kind = \"interleaving\", preset = \"fast\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"60 packets\" }"),
        ],
        up: &[
            ("rate", "854 kbit/s"),
            ("framing", "pppoa-vcmux"),
            ("protection", "{ kind = \"interleaving\", preset = \"fast\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"30 packets\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "adsl2+",
        summary: "ADSL2+ at the rates that every modem must reach, PPPoA, RITE's default interleaving",
        sources: &["ITU-T G.992.5 (16 Mbit/s and 800 kbit/s)", RITE, BRAUD],
        down: &[
            ("rate", "16 Mbit/s"),
            ("framing", "pppoa-vcmux"),
            ("protection", "{ kind = \"interleaving\", preset = \"default-down\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"60 packets\" }"),
        ],
        up: &[
            ("rate", "800 kbit/s"),
            ("framing", "pppoa-vcmux"),
            ("protection", "{ kind = \"interleaving\", preset = \"fast\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"30 packets\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "adsl2+repair",
        summary: "ADSL2+ on a noisy line: RITE's repair interleaving",
        sources: &["ITU-T G.992.5 (16 Mbit/s and 800 kbit/s)", RITE, BRAUD],
        down: &[
            ("rate", "16 Mbit/s"),
            ("framing", "pppoa-vcmux"),
            ("protection", "{ kind = \"interleaving\", preset = \"repair-down\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"60 packets\" }"),
        ],
        up: &[
            ("rate", "800 kbit/s"),
            ("framing", "pppoa-vcmux"),
            ("protection", "{ kind = \"interleaving\", preset = \"repair-up\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"30 packets\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "vdsl2",
        summary: "VDSL2, Ethernet over PTM, RITE's default interleaving",
        sources: &[OURS, "ITU-T G.993.2 (PTM)", RITE, NETALYZR],
        down: &[
            ("rate", "50 Mbit/s"),
            ("framing", "bridged-ptm"),
            ("protection", "{ kind = \"interleaving\", preset = \"default-down\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"256 KiB\" }"),
        ],
        up: &[
            ("rate", "10 Mbit/s"),
            ("framing", "bridged-ptm"),
            ("protection", "{ kind = \"interleaving\", preset = \"fast\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"256 KiB\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "vdsl2-ginp",
        summary: "VDSL2 with physical retransmission in place of interleaving",
        sources: &[OURS, "ITU-T G.993.2 (PTM) and G.998.4", RITE, NETALYZR],
        down: &[
            ("rate", "50 Mbit/s"),
            ("framing", "bridged-ptm"),
            ("protection", "retransmission"),
            ("queue", "{ kind = \"droptail\", limit = \"256 KiB\" }"),
        ],
        up: &[
            ("rate", "10 Mbit/s"),
            ("framing", "bridged-ptm"),
            ("protection", "retransmission"),
            ("queue", "{ kind = \"droptail\", limit = \"256 KiB\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "docsis",
        summary: "cable: a DOCSIS 3.0 modem alone on its upstream channel, request and grant",
        sources: &[OURS, "CableLabs MULPI", NETALYZR],
        down: &[
            ("rate", "100 Mbit/s"),
            ("framing", "docsis"),
            ("queue", "{ kind = \"droptail\", limit = \"256 KiB\" }"),
        ],
        up: &[
            ("rate", "10 Mbit/s"),
            ("framing", "docsis"),
            ("medium", "docsis"),
            ("queue", "{ kind = \"droptail\", limit = \"256 KiB\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "docsis-3.1",
        summary: "cable: a DOCSIS 3.1 modem, which has DOCSIS-PIE on its upstream queue",
        sources: &[OURS, "CableLabs MULPI", "RFC 8034 (DOCSIS-PIE)", NETALYZR],
        down: &[
            ("rate", "500 Mbit/s"),
            ("framing", "docsis"),
            ("queue", "{ kind = \"droptail\", limit = \"1000 packets\" }"),
        ],
        up: &[
            ("rate", "50 Mbit/s"),
            ("framing", "docsis"),
            ("medium", "docsis"),
            ("queue", "{ kind = \"pie\", preset = \"docsis\", limit = \"256 KiB\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "gpon",
        summary: "fibre: an ONU alone on a passive optical network, bandwidth allocated by status reports",
        sources: &[OURS, "ITU-T G.984.3", "the buffers are Sojourn's default"],
        down: &[
            ("rate", "1 Gbit/s"),
            ("framing", "{ overhead = 23 }"),
            ("queue", "{ kind = \"droptail\", limit = \"1000 packets\" }"),
        ],
        up: &[
            ("rate", "500 Mbit/s"),
            ("framing", "{ overhead = 23 }"),
            ("medium", "gpon"),
            ("queue", "{ kind = \"droptail\", limit = \"1000 packets\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "ethernet",
        summary: "Ethernet to the home: 100BASE, both directions alike",
        sources: &["IEEE 802.3", "the buffers are Sojourn's default"],
        down: &[
            ("rate", "100 Mbit/s"),
            ("framing", "ethernet"),
            ("queue", "{ kind = \"droptail\", limit = \"1000 packets\" }"),
        ],
        up: &[
            ("rate", "100 Mbit/s"),
            ("framing", "ethernet"),
            ("queue", "{ kind = \"droptail\", limit = \"1000 packets\" }"),
        ],
        ..Profile::PLAIN
    },
    Profile {
        name: "wifi",
        summary: "WiFi at home: 802.11n with 20 MHz and two streams, an access point that runs Linux, one station near it",
        sources: &["IEEE 802.11-2016", "Linux net/mac80211 (queues of an access point)", "the station is chosen here"],
        down: &[("medium", "{ kind = \"wifi\", standard = \"802.11n\", guard = \"400 ns\" }"), ("queue", "fq_codel")],
        station: Some("[{ name = \"home\", rate = \"mcs15\" }]"),
        ..Profile::PLAIN
    },
    Profile {
        name: "lte",
        summary: "LTE with 10 MHz, one station with a good channel, and a buffer of its own in the base station",
        sources: &["3GPP TS 36.213", "the station and the buffers are chosen here"],
        down: &[
            ("medium", "{ kind = \"lte\", bandwidth = \"10 MHz\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"1000 packets\" }"),
        ],
        station: Some("[{ name = \"phone\", cqi = 12 }]"),
        ..Profile::PLAIN
    },
    Profile {
        name: "5g",
        summary: "5G with 100 MHz at 3.5 GHz, one station with a good channel and two layers, and a buffer of its own in the base station",
        sources: &["3GPP TS 38.214", "the station and the buffers are chosen here"],
        down: &[
            ("medium", "{ kind = \"5g\", bandwidth = \"100 MHz\" }"),
            ("queue", "{ kind = \"droptail\", limit = \"1000 packets\" }"),
        ],
        station: Some("[{ name = \"phone\", cqi = 12, streams = 2 }]"),
        ..Profile::PLAIN
    },
];

/// Their names.
pub(crate) const WORDS: [&str; PROFILES.len()] = {
    let mut words = [""; PROFILES.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = PROFILES[index].name;
        index += 1;
    }
    words
};

impl Profile {
    /// The profile called `name`.
    pub fn named(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Base, Scenario};

    fn scenario(keys: &str) -> Scenario {
        overridden(keys, "seed=1")
    }

    fn overridden(keys: &str, set: &str) -> Scenario {
        let text =
            format!("{keys}\nduration = \"1 s\"\ngroup = [{{ name = \"a\", control = \"newreno\", rtt = \"1 ms\" }}]");
        Scenario::parse(&text, None, &Base::Nowhere, &[set.to_owned()])
            .unwrap_or_else(|problems| panic!("{problems}"))
            .scenario
    }

    /// No half of a direction: each has a rate, a framing, a buffer and all that the other has, but a shared medium.
    #[test]
    fn every_profile_sets_the_same_keys_in_both_directions() {
        for profile in PROFILES {
            assert!(!profile.sources.is_empty() && profile.summary.len() > 20, "{}", profile.name);
            scenario(&format!("access.profile = \"{}\"", profile.name));
            if profile.station.is_some() {
                continue;
            }
            let keys = |settings: Settings| -> Vec<_> {
                settings.iter().map(|(key, _)| *key).filter(|key| *key != "medium").collect()
            };
            assert_eq!(keys(profile.down), keys(profile.up), "{}", profile.name);
            for key in ["rate", "framing", "queue"] {
                assert!(keys(profile.up).contains(&key), "{}: {key}", profile.name);
            }
        }
    }

    /// A profile with a station needs nothing else; a file's own stations take its place.
    #[test]
    fn a_medium_that_stations_share_has_one_unless_a_file_names_others() {
        let stations = |keys: &str| scenario(keys).stations.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        for profile in PROFILES.iter().filter(|profile| profile.station.is_some()) {
            let keys = format!("access.profile = \"{}\"", profile.name);
            assert_eq!(stations(&keys).len(), 1, "{}", profile.name);
            assert!(scenario(&keys).reverse.is_none());
        }
        assert_eq!(stations("access.profile = \"wifi\"\nstation = [{ name = \"far\", rate = \"mcs0\" }]"), ["far"]);
        let scenario = overridden("access.profile = \"wifi\"", "station.home.rate=mcs7");
        assert_eq!(scenario.stations[0].rate.as_deref(), Some("mcs7"));
    }

    #[test]
    fn the_bottleneck_is_the_way_up_unless_told_otherwise() {
        let rates = |keys: &str| {
            let scenario = scenario(keys);
            [&scenario.bottleneck, scenario.reverse.as_ref().unwrap()]
                .map(|link| link.capacity().mean_rate().to_string())
        };
        assert_eq!(rates("access.profile = \"adsl\""), ["640 kbit/s", "6.144 Mbit/s"]);
        assert_eq!(rates("access = { profile = \"adsl\", bottleneck = \"down\" }"), ["6.144 Mbit/s", "640 kbit/s"]);
        assert_eq!(rates("access.profile = \"adsl\"\nreverse.rate = \"1 Mbit/s\""), ["640 kbit/s", "1 Mbit/s"]);
    }

    #[test]
    fn a_table_changes_what_the_profile_has_chosen() {
        let framing = |keys: &str| {
            let framing = scenario(&format!("access.profile = \"adsl\"\n{keys}")).bottleneck.framing().unwrap();
            (framing.overhead, framing.bytes(1))
        };
        assert_eq!(framing(""), (10, 53));
        assert_eq!(framing("bottleneck.framing.overhead = 48"), (48, 106));
        assert_eq!(framing("bottleneck.framing = \"ethernet\""), (38, 84));
        assert_eq!(framing("bottleneck.framing = { preset = \"ethernet\", mpu = 0 }"), (38, 39));
        let queue = |keys: &str| {
            let queue = scenario(&format!("access.profile = \"adsl\"\n{keys}")).bottleneck.keys.queue;
            (queue.descriptor().name, queue.get("limit").to_string())
        };
        assert_eq!(queue(""), ("droptail", "30 packets".to_owned()));
        assert_eq!(queue("bottleneck.queue.limit = \"9 packets\""), ("droptail", "9 packets".to_owned()));
        assert_eq!(queue("bottleneck.queue = { kind = \"pie\" }"), ("pie", "1000 packets".to_owned()));
    }

    /// An override changes what the profile has filled, also where it names the profile.
    #[test]
    fn an_override_keeps_the_rest_of_the_profile() {
        let queue = |keys: &str, set: &str| {
            let queue = overridden(keys, set).bottleneck.keys.queue;
            (queue.descriptor().name, queue.get("limit").to_string())
        };
        let cable = "access.profile = \"docsis-3.1\"";
        assert_eq!(queue(cable, "bottleneck.queue.limit=99packets"), ("pie", "99 packets".to_owned()));
        assert_eq!(queue(cable, "access.bottleneck=down"), ("droptail", "1000 packets".to_owned()));
        assert_eq!(queue(cable, "access.profile=adsl"), ("droptail", "30 packets".to_owned()));
    }

    /// What is written out needs no profile any more.
    #[test]
    fn the_canonical_text_is_the_line_itself() {
        let resolved = scenario("access = { profile = \"vdsl2-ginp\", bottleneck = \"down\" }").to_toml();
        assert!(!resolved.contains("access") && resolved.contains("max_delay = \"16 ms\""), "{resolved}");
        let again = Scenario::parse(&resolved, None, &Base::Nowhere, &[]).expect("it is valid").scenario;
        assert_eq!(again.to_toml(), resolved);
    }
}
