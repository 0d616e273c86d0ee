//! `/cost`: what was used, by model, in this turn and in the whole session.

use protocol::{LogEntry, SessionEvent, Usage};
use session::Session;
use store::StoreError;
use timeline::{count, money};

use super::text_table::table;

/// What was used, and what it cost where that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spending {
    usage: Usage,
    cost_usd: Option<f64>,
}

impl Spending {
    fn add(&mut self, (usage, cost): (Usage, Option<f64>)) {
        self.usage += usage;
        if let Some(cost) = cost {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    fn row(&self, name: &str) -> [String; 6] {
        let Usage { input, output, cache_read, cache_write } = self.usage;
        let read = input + cache_write + cache_read;
        let share = (cache_read * 100).checked_div(read);
        [
            name.to_owned(),
            count(input + cache_write),
            count(cache_read),
            share.map(|share| format!("{share} %")).unwrap_or_default(),
            count(output),
            match self.cost_usd {
                Some(cost) => money(cost),
                None if self.usage.total() == 0 => String::new(),
                None => "not known".to_owned(),
            },
        ]
    }
}

/// What a session has used so far, as a table. One in which nothing was said yet is not stored.
pub(crate) async fn costs_of(
    session: &Session,
    width: Option<usize>,
) -> Result<String, StoreError> {
    let (store, id) = (&session.parts().store, session.id());
    let entries = match store.info(id).await? {
        Some(_) => store.load(id).await?.entries,
        None => Vec::new(),
    };
    Ok(costs(&entries, width))
}

/// What the entries of a session have used, sub-agents and summaries included, as a table.
fn costs(entries: &[LogEntry], width: Option<usize>) -> String {
    let (mut turn, mut session) = (Spending::default(), Spending::default());
    let mut models: Vec<(String, Spending)> = Vec::new();
    let mut model = String::new();
    for entry in entries {
        match &entry.event {
            SessionEvent::Opened(opened) => model = opened.settings.model.clone(),
            SessionEvent::SettingsChanged(settings) => model = settings.model.clone(),
            SessionEvent::UserMessage { .. } => turn = Spending::default(),
            _ => {}
        }
        let Some(spent) = entry.event.spent() else { continue };
        turn.add(spent);
        session.add(spent);
        match models.iter_mut().find(|(name, _)| *name == model) {
            Some((_, own)) => own.add(spent),
            None => {
                let mut own = Spending::default();
                own.add(spent);
                models.push((model.clone(), own));
            }
        }
    }
    if models.is_empty() {
        return "Nothing has been used yet.\n".to_owned();
    }
    let models = models.iter().map(|(name, own)| own.row(name));
    let sums = [turn.row("this turn"), session.row("this session")];
    let head = ["", "in", "from cache", "cached", "out", "cost"];
    table(head, models.chain(sums), &[3, 2], width)
}

#[cfg(test)]
mod tests {
    use protocol::{AgentRole, Content, ModelAnswer, Opened, Settings, StopReason};

    use super::*;

    fn settings(model: &str) -> Settings {
        Settings { provider: "p".into(), model: model.into(), role: AgentRole::Actor }
    }

    fn answer(input: u64, cache_read: u64, cost_usd: Option<f64>) -> SessionEvent {
        SessionEvent::ModelAnswered(ModelAnswer {
            content: Vec::new(),
            broken: Vec::new(),
            stop: StopReason::EndOfTurn,
            usage: Usage { input, output: 10, cache_read, cache_write: 0 },
            cost_usd,
            duration_ms: 1,
        })
    }

    fn told(events: Vec<SessionEvent>, width: Option<usize>) -> String {
        let entries = (1..).zip(events);
        let entries = entries.map(|(sequence, event)| LogEntry { sequence, at: 0, event });
        costs(&entries.collect::<Vec<_>>(), width)
    }

    #[test]
    fn models_the_turn_and_the_session_have_a_row_each() {
        let said =
            || SessionEvent::UserMessage { content: vec![Content::Text { text: "x".into() }] };
        let opened = Opened { root: "/p".into(), settings: settings("small"), forked_from: None };
        let events = vec![
            SessionEvent::Opened(opened),
            said(),
            answer(100, 300, Some(0.5)),
            SessionEvent::SettingsChanged(settings("mystery")),
            said(),
            answer(2_000, 0, None),
        ];
        insta::assert_snapshot!(told(events.clone(), None), @"
                        in  from cache  cached  out  cost
        small          100         300    75 %   10  $0.5000
        mystery       2.0k           0     0 %   10  not known
        this turn     2.0k           0     0 %   10  not known
        this session  2.1k         300    12 %   20  $0.5000
        ");
        let narrow = told(events, Some(40));
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
        assert_eq!(told(vec![said()], None), "Nothing has been used yet.\n");
    }
}
