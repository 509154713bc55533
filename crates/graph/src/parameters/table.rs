//! A program's parameters as one struct: declared from a table, judged together, read as a whole.

use std::rc::Rc;

use super::{Descriptor, NamedValue, ParameterValue};
use crate::{Error, Node, Result};

/// A struct whose fields are parameters.
///
/// ```
/// use rosless_graph::parameters::{Descriptor, NamedValue, ParameterValue, Table};
///
/// #[derive(Clone)]
/// struct Speeds {
///     walk: f64,
///     run: f64,
/// }
///
/// impl Table for Speeds {
///     fn rows(&self) -> Vec<(Descriptor, ParameterValue)> {
///         let speed = |name, text| Descriptor::new(name).description(text).double_range(0.0, 10.0, 0.0);
///         vec![
///             (speed("walk", "m/s"), self.walk.into()),
///             (speed("run", "m/s, at least the walking speed"), self.run.into()),
///         ]
///     }
///
///     fn take(&mut self, values: &[NamedValue]) -> Result<(), String> {
///         for (name, value) in values {
///             match (name.as_str(), value) {
///                 ("walk", ParameterValue::Double(value)) => self.walk = *value,
///                 ("run", ParameterValue::Double(value)) => self.run = *value,
///                 _ => {}
///             }
///         }
///         if self.run < self.walk { Err(format!("run = {} is slower than walk = {}", self.run, self.walk)) } else { Ok(()) }
///     }
/// }
/// ```
pub trait Table: Clone + 'static {
    /// Every parameter: what is declared of it, and the value it has here.
    fn rows(&self) -> Vec<(Descriptor, ParameterValue)>;

    /// Takes these values over; what is not its parameter is left alone. A struct that refuses is thrown away.
    ///
    /// # Errors
    /// Why they do not fit together, for whoever set them.
    fn take(&mut self, values: &[NamedValue]) -> Result<(), String>;
}

/// A [`Table`] whose parameters a node has declared.
#[derive(Clone, Debug)]
pub struct Declared<T> {
    node: Node,
    defaults: T,
}

impl<T: Table> Declared<T> {
    /// The struct with the values the parameters have now.
    pub fn read(&self) -> T {
        let mut table = self.defaults.clone();
        // What was declared and set has been judged by the same rules.
        let _ = table.take(&values(&self.node, &self.defaults));
        table
    }
}

/// The values of those parameters that are declared already.
fn values<T: Table>(node: &Node, table: &T) -> Vec<NamedValue> {
    let rows = table.rows().into_iter();
    rows.filter_map(|(row, _)| Some((row.name.clone(), node.parameter_value(&row.name).ok()?))).collect()
}

impl Node {
    /// Declares all parameters of a struct, with its values as defaults. From then on whoever sets some of them sets values
    /// that fit together, or none.
    ///
    /// # Errors
    /// As [`Node::declare_parameter`]: also when the values that were given from outside do not fit together.
    pub fn declare_table<T: Table>(&self, defaults: T) -> Result<Declared<T>> {
        // What is given for one may fit only together with what is given for another that is declared later.
        let mut table = defaults.clone();
        let given = |(row, _): (Descriptor, _)| Some((row.name.clone(), self.parameters().given(&row.name)?));
        let given: Vec<_> = defaults.rows().into_iter().filter_map(given).collect();
        table.take(&given).map_err(|reason| Error::Usage(format!("node {}: {reason}", self.full_name())))?;
        // The judge belongs to the node: one that held it would keep it, and its participant, for ever.
        let node = Rc::downgrade(self.inner());
        self.validate_parameters(move |new| {
            let Some(node) = node.upgrade().map(Node::from_inner) else { return Ok(()) };
            let mut judged = table.clone();
            judged.take(&[values(&node, &table).as_slice(), new].concat())
        });
        for (descriptor, default) in defaults.rows() {
            self.declare_parameter_value(descriptor, default)?;
        }
        Ok(Declared { node: self.clone(), defaults })
    }
}
