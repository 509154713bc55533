//! What discovery remembers of others at most.

/// Whoever announces more than this is not listened to any further; it is said once in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscoveryLimits {
  /// Remote participants. When there are more, those that never answered have to go first, then those without
  /// endpoints.
  pub participants: usize,
  /// Readers and writers of one remote participant.
  pub endpoints_per_participant: usize,
  /// Readers and writers of all remote participants.
  pub endpoints: usize,
  /// Remote endpoints that one local reader or writer is matched with.
  pub matches_per_endpoint: usize,
  /// Octets of USER_DATA of a participant or an endpoint; longer ones are taken as empty.
  pub user_data: usize,
  /// Bytes of a topic name or a type name; endpoints with longer ones are ignored.
  pub name: usize,
}

impl Default for DiscoveryLimits {
  fn default() -> Self {
    Self {
      participants: 1024,
      endpoints_per_participant: 4096,
      endpoints: 16384,
      matches_per_endpoint: 1024,
      user_data: 4096,
      name: 1024,
    }
  }
}
