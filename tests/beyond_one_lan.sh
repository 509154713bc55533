#!/usr/bin/env bash
# Two sites with DDS domains of their own, joined by zenoh: a controller at site A starts a capture system at site B; topics, services and
# an action cross; the link is cut and restored. Then the same over TLS with certificates on both ends, a namespace for site B and a list of
# what may leave it. Not part of CI: zenoh is built by hand (docs/beyond-one-lan.md).
#
#   sudo tests/beyond_one_lan.sh ZENOHD libzenoh_plugin_ros2dds.so [FOLDER OF OUR PROGRAMS]
#
# Everything happens in network namespaces that end with this script. Exit code 0: every step went as expected. With ROS_SETUP=FILE, a setup
# file of ROS 2 (rmw_cyclonedds), its talker and listener join in.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
zenohd=$(realpath "$1") plugin=$(realpath "$2") bin=$(realpath "${3:-target/debug}")
root=$(cd "$(dirname "$0")/.." && pwd)
export PATH="$bin:$PATH" NO_COLOR=1
# A namespace of mounts, so that names of networks are ours alone and vanish with us.
if [ "${BEYOND_INSIDE:-}" != 1 ]; then
  exec env BEYOND_INSIDE=1 unshare --mount --net --pid --fork --mount-proc bash "$(realpath "$0")" "$zenohd" "$plugin" "$bin"
fi
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p /run/netns && mount -t tmpfs none /run/netns

say() { printf '\n== %s\n' "$*"; }
fail() { say "FAILED: $*"; tail -n 4 "$work"/*.log; exit 1; }
at() { local site=$1; shift; ip netns exec "site_$site" env ROS_DOMAIN_ID="$([ "$site" = a ] && echo 1 || echo 2)" XDG_STATE_HOME="$work/$site" "$@"; }
# Shows a command, runs it at a site and shows what it said.
show() { local site=$1; shift; printf '%s$ %s\n' "$site" "$*"; at "$site" timeout 40 "$@" 2>&1; }
# Until a command says what is wanted; shows the last try.
until_says() {
  local wanted=$1 site=$2 deadline=$((SECONDS + 40)) said; shift 2
  while :; do
    said=$(show "$site" "$@") || true
    if grep -q -- "$wanted" <<<"$said"; then printf '%s\n' "$said"; return; fi
    [ $SECONDS -lt $deadline ] || { printf '%s\n' "$said"; fail "'$wanted' was not said"; }
  done
}

say "two sites, one link between them"
for site in a b; do
  ip netns add site_$site
  ip -n site_$site link set lo up
  # The site's own network: a cable with both ends in this host.
  ip -n site_$site link add lan type veth peer name lan_end
  ip -n site_$site addr add "192.0.2.1/24" dev lan
  ip -n site_$site link set lan up && ip -n site_$site link set lan_end up
  ip -n site_$site route add 224.0.0.0/4 dev lan
done
export CYCLONEDDS_URI='<CycloneDDS><Domain><General><Interfaces><NetworkInterface name="lan"/></Interfaces></General></Domain></CycloneDDS>'
ip link add wan_a netns site_a type veth peer name wan_b netns site_b
ip -n site_a addr add 198.51.100.1/24 dev wan_a && ip -n site_a link set wan_a up
ip -n site_b addr add 198.51.100.2/24 dev wan_b && ip -n site_b link set wan_b up

# The domains differ, so that DDS stays at its site and only zenoh's connection crosses.
routers() { # PROTOCOL, FURTHER SETTINGS, SETTINGS OF THE PLUGIN AT B
  local site ends
  [ -z "${bridges:-}" ] || { kill $bridges; wait $bridges || true; } 2>/dev/null
  bridges=
  for site in a b; do
    ends='listen: { endpoints: ["'$1'/198.51.100.1:7447"] }'
    [ $site = a ] || ends='listen: { endpoints: [] }, connect: { endpoints: ["'$1'/198.51.100.1:7447"] }'
    cat > "$work/$site.json5" <<CONFIG
{
  mode: "router",
  plugins: { ros2dds: { domain: $([ $site = a ] && echo 1 || echo "2, $3") } },
  $ends,
  scouting: { multicast: { enabled: false } },
  ${2//SITE/$site}
}
CONFIG
    # Not through a function, so that the process that is ended is the router.
    ip netns exec "site_$site" "$zenohd" -c "$work/$site.json5" -P "ros2dds:$plugin" > "$work/zenoh_$site.log" 2>&1 &
    bridges="$bridges $!"
  done
}
unset ROS_AUTOMATIC_DISCOVERY_RANGE
routers tcp "" ""
at b mocap-system --kind dummy --name optitrack > "$work/optitrack.log" 2>&1 &
at b primitive-queue run > "$work/queue.log" 2>&1 &

say "who is seen at site A, where nothing of ours runs"
until_says '/optitrack/get_state' a rosless service list
show a rosless node list
until_says optitrack a mocap-controller status

say "a controller at A starts the system at B; its topic arrives"
show a mocap-controller start optitrack --session over_the_wan || fail "START did not cross"
until_says 'marker' a rosless topic echo --once /markers
say "services: lifecycle and parameters of a node at B"
show a rosless lifecycle get /optitrack || fail "a service did not cross"
show a rosless param list /optitrack || fail "parameters did not cross"
say "an action: primitives at B, sent from A"
show a primitive-queue send --action "$root/bins/primitive-queue/examples/square.yaml" || fail "the action did not cross"

say "the link is cut"
ip -n site_a link set wan_a down
if show a mocap-controller stop optitrack; then fail "STOP succeeded over a link that is down"; fi
say "and restored"
ip -n site_a link set wan_a up
until_says 'stopped' a mocap-controller stop optitrack
until_says 'started' a mocap-controller start optitrack --session again
until_says 'marker' a rosless topic echo --once /markers
show a mocap-controller stop optitrack

say "the same over TLS, with a namespace for B and a list of what may leave it"
authority() { # NAME
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/$1.key" -out "$work/$1.pem" -days 1 -subj "/CN=$1" 2> /dev/null
}
certificate() { # SITE, ADDRESS, AUTHORITY
  openssl req -newkey rsa:2048 -nodes -keyout "$work/$1.key" -subj "/CN=$1" 2> /dev/null |
    openssl x509 -req -CA "$work/$3.pem" -CAkey "$work/$3.key" -CAcreateserial -days 1 -extfile <(echo "subjectAltName=IP:$2") -out "$work/$1.pem" 2> /dev/null
}
authority ca
certificate a 198.51.100.1 ca
certificate b 198.51.100.2 ca
keys() {
  echo "transport: { link: { tls: { root_ca_certificate: \"$work/ca.pem\", enable_mtls: true,
    listen_certificate: \"$work/$1.pem\", listen_private_key: \"$work/$1.key\",
    connect_certificate: \"$work/$1.pem\", connect_private_key: \"$work/$1.key\" } } },"
}
allowed='namespace: "/lab_b", allow: { publishers: ["/markers", "/mocap_environment", "/mocap_control"], subscribers: ["/mocap_control"],
    service_servers: ["/optitrack/get_state", "/optitrack/change_state"] }'
routers tls "$(keys SITE)" "$allowed"
until_says '/lab_b/optitrack/get_state' a rosless service list
if show a rosless service list | grep get_parameters; then fail "what is not in the list has left site B"; fi
show a rosless topic list
until_says optitrack a mocap-controller status
until_says 'started: acknowledged' a mocap-controller start optitrack --session named
until_says 'marker' a rosless topic echo --once /lab_b/markers
if show a timeout 5 rosless topic echo --once /lab_b/rigid_bodies; then fail "what is not in the list has left site B"; fi
until_says 'stopped' a mocap-controller stop optitrack

say "a router without a certificate of ours is not let in"
authority stranger
certificate b 198.51.100.2 stranger
routers tls "$(keys SITE)" "$allowed"
if (until_says '/lab_b/optitrack/get_state' a rosless service list) > /dev/null; then fail "a stranger was let in"; fi
grep -v conf: "$work/zenoh_a.log" | grep -o -i -m 1 'invalid peer certificate.*' || fail "nobody says why"

if [ -n "${ROS_SETUP:-}" ]; then
  say "ROS 2 at both sites"
  routers tcp "" ""
  ros() { local site=$1; shift; at "$site" bash -c 'set +u; source "$0" rmw_cyclonedds_cpp && exec "$@"' "$ROS_SETUP" env -u ROS_AUTOMATIC_DISCOVERY_RANGE "$@"; }
  ros b ros2 run demo_nodes_py talker > "$work/talker.log" 2>&1 &
  until_says 'Hello' a rosless topic echo --once /chatter
  ros a timeout 30 ros2 topic echo --once /chatter std_msgs/msg/String || fail "ROS 2 does not hear ROS 2"
fi
say "all of it went as expected"
