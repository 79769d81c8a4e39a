# A dumbbell with two groups of bulk flows in ns-2.35. Prints one line of JSON.
#
#   ns ns2_dumbbell.tcl key value [key value ...]
#
# key (default)                unit, meaning
#   rate (4e6)                 bit/s, bottleneck
#   limit (400)                packets, the queue's limit_ (DropTail then holds limit - 1; RED limit * 500 bytes); 0, for sfq and
#                              drr: their own
#   rtt (0.05)                 s, base round trip, propagation only
#   bottleneck_delay (0)       s, the part of rtt/2 that lies on the bottleneck itself (RED's automatic weight looks at it)
#   flows_1 (5) flows_2 (5)    flows in each group
#   control_1 control_2        newreno (default), reno, tahoe, vegas, sack, or linux:NAME (Agent/TCP/Linux, select_ca NAME)
#   queue (droptail)           droptail, red, sfq or drr; ns-2.35's own defaults, but for limit and buckets
#   buckets (0)                of sfq and drr; 0: 16. Nodes are numbered so that the flows fill one bucket after the other
#   load (0)                   0: the controls decide. Otherwise UDP at constant rates, load * rate in all, whatever happens;
#   part_1 (0.25)              the part of it that group 1 sends
#   duration (60) warmup (10)  s, measured from warmup to duration
#   seed (1)
#   payload (1460)             bytes; ns-2 adds 40
#   window (10000)             packets, advertised window and initial ssthresh
#   start_max (0.1)            s, starts are uniform in [0, start_max)
#   access_rate (1e11)         bit/s, all other links
#   topology (dumbbell)        dumbbell: own nodes and access links per flow; direct: agents sit on the two routers (cheapest)
#   scheduler (Calendar)       ns-2's event list; Heap is faster here
#   monitor (1)                0: no queue monitor (queue and drop figures are then null; for timing)

array set cfg {
    rate 4e6 limit 400 rtt 0.05 bottleneck_delay 0 flows_1 5 flows_2 5 control_1 newreno control_2 newreno
    queue droptail buckets 0 load 0 part_1 0.25 duration 60 warmup 10 seed 1 payload 1460 window 10000 start_max 0.1
    access_rate 1e11 topology dumbbell monitor 1 scheduler Calendar
}

proc fail {message} {
    puts stderr "ns2_dumbbell.tcl: $message"
    exit 2
}

if {[llength $argv] % 2 != 0} { fail "arguments come in pairs: key value" }
foreach {key value} $argv {
    if {![info exists cfg($key)]} { fail "unknown key '$key'; known: [lsort [array names cfg]]" }
    set cfg($key) $value
}
if {$cfg(duration) > 0 && $cfg(warmup) >= $cfg(duration)} { fail "warmup must be below duration" }
if {2.0 * $cfg(bottleneck_delay) > $cfg(rtt)} { fail "bottleneck_delay exceeds rtt / 2" }
switch -- $cfg(queue) {
    droptail { set queue_class DropTail }
    red { set queue_class RED }
    sfq { set queue_class SFQ }
    drr { set queue_class DRR }
    default { fail "queue is droptail, red, sfq or drr, not '$cfg(queue)'" }
}
if {$cfg(buckets) == 0} { set cfg(buckets) 16 }
set hashes [expr {$cfg(queue) in {sfq drr} && $cfg(topology) eq "dumbbell"}]

# ns-2 fills all six words of its generator with the seed, and the generator is linear: neighbouring seeds would give related
# streams. A quadratic hash separates them.
set hashed [expr {(wide($cfg(seed)) + 977) * (wide($cfg(seed)) + 977) * 69621 + 12345}]
$defaultRNG seed [expr {$hashed % 2147483562 + 1}]

set ns [new Simulator]
if {$cfg(scheduler) ne "Calendar"} { $ns use-scheduler $cfg(scheduler) }
set left [$ns node]
set right [$ns node]

# The whole propagation sits on the bottleneck (direct) or half before, half after it (dumbbell).
if {$cfg(topology) eq "direct"} {
    set bottleneck_delay [expr {$cfg(rtt) / 2.0}]
} elseif {$cfg(topology) eq "dumbbell"} {
    set bottleneck_delay $cfg(bottleneck_delay)
} else {
    fail "topology is dumbbell or direct, not '$cfg(topology)'"
}
set access_delay [expr {($cfg(rtt) / 2.0 - $bottleneck_delay) / 2.0}]
set plenty 10000000

$ns simplex-link $left $right $cfg(rate) $bottleneck_delay $queue_class
$ns queue-limit $left $right $cfg(limit)
# SFQ and DRR look at limits of their own, not at the link's.
set bottleneck [[$ns link $left $right] queue]
switch -- $cfg(queue) {
    sfq {
        $bottleneck set buckets_ $cfg(buckets)
        if {$cfg(limit) > 0} { $bottleneck set maxqueue_ $cfg(limit) }
    }
    drr {
        $bottleneck set buckets_ $cfg(buckets)
        if {$cfg(limit) > 0} { $bottleneck set blimit_ [expr {$cfg(limit) * ($cfg(payload) + 40)}] }
    }
}
$ns simplex-link $right $left $cfg(access_rate) $bottleneck_delay DropTail
$ns queue-limit $right $left $plenty

# The bucket that SFQ's and DRR's hash gives a number: SFQ takes the sum of both nodes' addresses, DRR the source's.
proc bucket_of {number} {
    global cfg
    return [expr {(($number + ($number >> 8) + ~($number >> 4)) % ((2 << 19) - 1)) % $cfg(buckets)}]
}

# A new node whose number, plus `besides`, falls into the bucket; those before it stay without links.
proc node_for {bucket besides} {
    global ns cfg
    while 1 {
        set node [$ns node]
        if {[bucket_of [expr {[$node id] + $besides}]] == $bucket % $cfg(buckets)} { return $node }
    }
}

proc edge_node {node router delay} {
    global ns cfg plenty
    foreach {from to} [list $node $router $router $node] {
        $ns simplex-link $from $to $cfg(access_rate) $delay DropTail
        $ns queue-limit $from $to $plenty
    }
}

# A sender and its receiver; `header` is what the sender adds to its payload.
proc new_pair {control} {
    global cfg
    set sink_class Agent/TCPSink
    set header 40
    switch -glob -- $control {
        newreno { set tcp [new Agent/TCP/Newreno] }
        reno { set tcp [new Agent/TCP/Reno] }
        tahoe { set tcp [new Agent/TCP] }
        vegas { set tcp [new Agent/TCP/Vegas] }
        sack { set tcp [new Agent/TCP/Sack1]; set sink_class Agent/TCPSink/Sack1 }
        linux:* {
            set tcp [new Agent/TCP/Linux]
            set sink_class Agent/TCPSink/Sack1
            # Agent/TCP/Linux needs timestamps: its controls read RTTs from them. The packet stays as long as without.
            $tcp set timestamps_ true
            incr header [$tcp set ts_option_size_]
            set select_ca [string range $control 6 end]
            [Simulator instance] at 0 "$tcp select_ca $select_ca"
        }
        default { fail "unknown control '$control'" }
    }
    set sink [new $sink_class]
    if {$header > 40} { $sink set ts_echo_rfc1323_ true }
    $tcp set packetSize_ [expr {$cfg(payload) + 40 - $header}]
    $tcp set window_ $cfg(window)
    return [list $tcp $sink $header]
}

# A sender of packets of the same size at a constant rate; LossMonitor counts what arrives.
proc new_stream {} {
    global cfg
    set udp [new Agent/UDP]
    $udp set packetSize_ [expr {$cfg(payload) + 40}]
    return [list $udp [new Agent/LossMonitor] 40]
}

set flows {}
foreach group {1 2} {
    for {set i 0} {$i < $cfg(flows_$group)} {incr i} {
        foreach {sender sink header} [expr {$cfg(load) > 0 ? [new_stream] : [new_pair $cfg(control_$group)]}] break
        $sender set fid_ [llength $flows]
        if {$cfg(topology) eq "dumbbell"} {
            set bucket [llength $flows]
            set source [expr {$hashes && $cfg(queue) eq "drr" ? [node_for $bucket 0] : [$ns node]}]
            set target [expr {$hashes && $cfg(queue) eq "sfq" ? [node_for $bucket [$source id]] : [$ns node]}]
            edge_node $source $left $access_delay
            edge_node $target $right $access_delay
        } else {
            set source $left
            set target $right
        }
        $ns attach-agent $source $sender
        $ns attach-agent $target $sink
        $ns connect $sender $sink
        if {$cfg(load) > 0} {
            set application [new Application/Traffic/CBR]
            $application set packetSize_ [expr {$cfg(payload) + 40}]
            set part [expr {$group == 1 ? $cfg(part_1) : 1.0 - $cfg(part_1)}]
            $application set rate_ [expr {$part * $cfg(load) * $cfg(rate) / $cfg(flows_$group)}]
        } else {
            set application [new Application/FTP]
        }
        $application attach-agent $sender
        $ns at [$defaultRNG uniform 0.0 $cfg(start_max)] "$application start"
        lappend flows [list $group $sender $sink $header]
    }
}

if {$cfg(monitor)} {
    set monitor [$ns monitor-queue $left $right {}]
    set packets [$monitor get-pkts-integrator]
    set bytes [$monitor get-bytes-integrator]
}

# Reads every counter at the current instant into the array `a` (name of an array in the caller).
proc snapshot {name} {
    upvar #0 $name a
    global ns cfg flows monitor packets bytes
    set now [$ns now]
    set a(time) $now
    if {$cfg(monitor)} {
        # Closes the running interval of the integrators without changing their level.
        foreach {key integrator} [list queue_packets $packets queue_bytes $bytes] {
            $integrator newpoint $now [$integrator set lasty_]
            set a($key) [$integrator set sum_]
        }
        set a(arrivals) [$monitor set parrivals_]
        set a(drops) [$monitor set pdrops_]
        set a(sent_bytes) [$monitor set bdepartures_]
    }
    foreach key {timeouts resent} { set a($key) 0 }
    set a(flows) {}
    foreach flow $flows {
        foreach {group sender sink header} $flow break
        # The sink counts in-order bytes with their headers.
        lappend a(flows) [expr {[$sink set bytes_] * (1.0 - $header / ($cfg(payload) + 40.0))}]
        if {$cfg(load) > 0} continue
        incr a(timeouts) [$sender set nrexmit_]
        incr a(resent) [$sender set nrexmitpack_]
    }
}

proc number {value} {
    if {$value eq "null"} { return null }
    return [format %.10g $value]
}

proc finish {} {
    global ns cfg flows begin end
    snapshot end
    set span [expr {$end(time) - $begin(time)}]
    set out {}
    foreach key {utilization queue_packets_mean queue_bytes_mean arrivals drops drop_rate} { set r($key) null }
    foreach group {1 2} {
        set delivered($group) 0.0
    }
    set each {}
    foreach flow $flows before $begin(flows) after $end(flows) {
        set gained [expr {$after - $before}]
        set delivered([lindex $flow 0]) [expr {$delivered([lindex $flow 0]) + $gained}]
        if {$span > 0} { lappend each [number [expr {8.0 * $gained / $span}]] }
    }
    if {$cfg(monitor) && $span > 0} {
        set r(utilization) [expr {8.0 * ($end(sent_bytes) - $begin(sent_bytes)) / ($cfg(rate) * $span)}]
        set r(queue_packets_mean) [expr {($end(queue_packets) - $begin(queue_packets)) / $span}]
        set r(queue_bytes_mean) [expr {($end(queue_bytes) - $begin(queue_bytes)) / $span}]
        set r(arrivals) [expr {$end(arrivals) - $begin(arrivals)}]
        set r(drops) [expr {$end(drops) - $begin(drops)}]
        if {$r(arrivals) > 0} { set r(drop_rate) [expr {double($r(drops)) / $r(arrivals)}] }
    }
    set total [expr {$delivered(1) + $delivered(2)}]
    set share null
    if {$total > 0} { set share [expr {$delivered(1) / $total}] }
    foreach group {1 2} {
        set goodput($group) null
        if {$span > 0} { set goodput($group) [expr {8.0 * $delivered($group) / $span}] }
    }
    foreach key {utilization queue_packets_mean queue_bytes_mean arrivals drops drop_rate} {
        lappend out "\"$key\": [number $r($key)]"
    }
    lappend out "\"share_1\": [number $share]"
    lappend out "\"goodput_1_bps\": [number $goodput(1)]"
    lappend out "\"goodput_2_bps\": [number $goodput(2)]"
    lappend out "\"timeouts\": [expr {$end(timeouts) - $begin(timeouts)}]"
    lappend out "\"retransmissions\": [expr {$end(resent) - $begin(resent)}]"
    lappend out "\"flow_goodput_bps\": \[[join $each {, }]\]"
    puts "{\"peer\": \"ns-2\", \"seed\": $cfg(seed), [join $out {, }]}"
    exit 0
}

if {$cfg(duration) > 0} {
    $ns at $cfg(warmup) "snapshot begin"
} else {
    snapshot begin
}
$ns at $cfg(duration) "finish"
$ns run
