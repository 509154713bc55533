//! Asking nodes for definitions that are not known here.

use std::time::Duration;

use rosless_graph::descriptions;
use rosless_web::ClientId;
use rosless_wire::type_description_interfaces::srv::GetTypeDescription;

use crate::{app::App, types::Source};

const PATIENCE: Duration = Duration::from_secs(3);
/// More questions than this are not open at the same time.
const MOST_ASKED: usize = 64;

impl App {
    /// Asks for a definition; what `waiting` says is read again when it came, or did not.
    pub(crate) fn ask_for_type(&mut self, source: &Source, waiting: Option<(ClientId, String)>) {
        if let Some(others) = self.asked.get_mut(source) {
            others.extend(waiting);
            return;
        }
        if self.asked.len() >= MOST_ASKED {
            return;
        }
        let request = descriptions::question(&source.type_name, &source.hash);
        let client = match self.handle.client::<GetTypeDescription>(&self.node, &source.service) {
            Ok(client) => client,
            Err(error) => return log::warn!(target: self.node.logger(), "{}: {error}", source.service),
        };
        self.asked.insert(source.clone(), waiting.into_iter().collect());
        let (source, used) = (source.clone(), client.clone());
        client.call(&request, PATIENCE, move |app: &mut App, answer| {
            used.close();
            let read = |answer| descriptions::read(answer, &source.type_name, &source.hash);
            let registry = answer.map_err(|error| error.to_string()).and_then(read);
            let waiting = app.asked.remove(&source).unwrap_or_default();
            let learnt = match registry {
                Ok(registry) => app.types.learn(source.clone(), registry),
                Err(error) => {
                    app.types.give_up(source.clone());
                    Err(error)
                }
            };
            if let Err(error) = learnt {
                log::warn!(target: app.node.logger(), "{} does not describe {}: {error}", source.service, source.type_name);
            }
            app.types_changed();
            for (id, text) in waiting {
                app.page_text(id, &text);
            }
        });
    }
}
