//! Permissions and governance, as DDS Security reads them.

use std::{collections::BTreeSet, fmt::Write as _};

use chrono::{DateTime, Utc};

use crate::policy::{Act, Enclave, Rule, escaped};

/// The topic on which every ROS participant tells of its nodes.
const DISCOVERY: &str = "ros_discovery_info";

/// Topics of DDS that a rule is about: those that are published, and those that are subscribed to.
fn topics(rule: &Rule) -> (Vec<String>, Vec<String>) {
    let Rule { act, name, .. } = rule;
    let services = ["cancel_goal", "get_result", "send_goal"];
    let requests = services.map(|service| format!("rq{name}/_action/{service}Request"));
    let replies = services.map(|service| format!("rr{name}/_action/{service}Reply"));
    let news = ["feedback", "status"].map(|topic| format!("rt{name}/_action/{topic}"));
    match act {
        Act::Publish => (vec![format!("rt{name}")], vec![]),
        Act::Subscribe => (vec![], vec![format!("rt{name}")]),
        Act::Reply => (vec![format!("rr{name}Reply")], vec![format!("rq{name}Request")]),
        Act::Request => (vec![format!("rq{name}Request")], vec![format!("rr{name}Reply")]),
        Act::Execute => ([&replies[..], &news[..]].concat(), requests.into()),
        Act::Call => (requests.into(), [&replies[..], &news[..]].concat()),
    }
}

fn rule_xml(
    xml: &mut String,
    element: &str,
    domain: u16,
    published: &BTreeSet<String>,
    subscribed: &BTreeSet<String>,
) {
    let _ = writeln!(
        xml,
        "      <{element}>\n        <domains>\n          <id>{domain}</id>\n        </domains>"
    );
    for (act, topics) in [("publish", published), ("subscribe", subscribed)] {
        if topics.is_empty() {
            continue;
        }
        let _ = writeln!(xml, "        <{act}>\n          <topics>");
        for topic in topics {
            let _ = writeln!(xml, "            <topic>{}</topic>", escaped(topic));
        }
        let _ = writeln!(xml, "          </topics>\n        </{act}>");
    }
    let _ = writeln!(xml, "      </{element}>");
}

/// The permissions of an enclave in a domain; what they do not name is denied.
pub fn permissions_xml(
    enclave: &Enclave,
    domain: u16,
    not_before: DateTime<Utc>,
    not_after: DateTime<Utc>,
) -> String {
    let name = escaped(&enclave.path);
    let date = |time: DateTime<Utc>| time.format("%Y-%m-%dT%H:%M:%S").to_string();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <dds xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:noNamespaceSchemaLocation=\"http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_permissions.xsd\">\n  \
         <permissions>\n    <grant name=\"{name}\">\n      <subject_name>CN={name}</subject_name>\n      \
         <validity>\n        <not_before>{}</not_before>\n        <not_after>{}</not_after>\n      </validity>\n",
        date(not_before),
        date(not_after)
    );
    for (allowed, element) in [(false, "deny_rule"), (true, "allow_rule")] {
        let (mut published, mut subscribed) = (BTreeSet::new(), BTreeSet::new());
        for rule in enclave.rules.iter().filter(|rule| rule.allowed == allowed) {
            let (publish, subscribe) = topics(rule);
            published.extend(publish);
            subscribed.extend(subscribe);
        }
        if allowed {
            published.insert(DISCOVERY.to_owned());
            subscribed.insert(DISCOVERY.to_owned());
        }
        if !published.is_empty() || !subscribed.is_empty() {
            rule_xml(&mut xml, element, domain, &published, &subscribed);
        }
    }
    xml.push_str("      <default>DENY</default>\n    </grant>\n  </permissions>\n</dds>\n");
    xml
}

/// SROS2's governance: nobody unknown joins, and everything is encrypted.
pub fn governance_xml(domain: u16) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_governance.xsd">
  <domain_access_rules>
    <domain_rule>
      <domains>
        <id>{domain}</id>
      </domains>
      <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
      <enable_join_access_control>true</enable_join_access_control>
      <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
      <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
      <rtps_protection_kind>SIGN</rtps_protection_kind>
      <topic_access_rules>
        <topic_rule>
          <topic_expression>*</topic_expression>
          <enable_discovery_protection>true</enable_discovery_protection>
          <enable_liveliness_protection>true</enable_liveliness_protection>
          <enable_read_access_control>true</enable_read_access_control>
          <enable_write_access_control>true</enable_write_access_control>
          <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
          <data_protection_kind>ENCRYPT</data_protection_kind>
        </topic_rule>
      </topic_access_rules>
    </domain_rule>
  </domain_access_rules>
</dds>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enclave_of_everything_names_what_ros2_security_names() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let enclave = Enclave::of_everything("/talker");
        let xml = permissions_xml(&enclave, 5, at("2026-01-01T00:00:00Z"), at("2036-01-01T00:00:00Z"));
        for part in [
            "<grant name=\"/talker\">",
            "<subject_name>CN=/talker</subject_name>",
            "<not_after>2036-01-01T00:00:00</not_after>",
            "<id>5</id>",
            "<topic>rt/*</topic>",
            "<topic>rq/*Request</topic>",
            "<topic>rr/*Reply</topic>",
            "<topic>rt/*/_action/feedback</topic>",
            "<topic>rq/*/_action/send_goalRequest</topic>",
            "<topic>ros_discovery_info</topic>",
            "<default>DENY</default>",
        ] {
            assert!(xml.contains(part), "{part} is missing in {xml}");
        }
        assert!(!xml.contains("deny_rule"));
    }

    #[test]
    fn a_denial_comes_first() {
        let rule = |allowed, name: &str| Rule { allowed, act: Act::Publish, name: name.to_owned() };
        let enclave = Enclave { path: "/a".into(), rules: [rule(true, "/*"), rule(false, "/stop")].into() };
        let xml = permissions_xml(&enclave, 0, Utc::now(), Utc::now());
        assert!(xml.find("<deny_rule>").unwrap() < xml.find("<allow_rule>").unwrap());
        let denied = &xml[..xml.find("<allow_rule>").unwrap()];
        assert!(denied.contains("rt/stop") && !denied.contains(DISCOVERY), "{denied}");
    }
}
