//! Append a turn, read it back, answer a question. Run: `cargo run -p turnstore-examples --bin quickstart`.
#![expect(clippy::print_stdout, reason = "an example shows what it reads")]

use turnstore::fact::{
    Content, Fact, InteractionRequested, InteractionResolved, Json, PartDelta, PartKind, PartOpened, ToolChanged, ToolOp, TurnStarted,
};
use turnstore::{Batch, Engine, ItemKind, Window};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Facts are plain structs; these are the ones that a host of a chat states most.
fn opened<'a>(id: &'a str, role: &'a str, content: Option<&'a str>) -> Fact<'a> {
    Fact::PartOpened(PartOpened {
        part: id.into(),
        message: id.into(),
        kind: PartKind::Text,
        role: role.into(),
        name: None,
        turn: None,
        agent: None,
        subtype: None,
        content: content.map(|text| Content::Text(text.into())),
        metadata: None,
    })
}

fn delta<'a>(id: &'a str, text: &'a str) -> Fact<'a> {
    Fact::PartDelta(PartDelta { part: id.into(), kind: PartKind::Text, text: text.into(), metadata: None })
}

fn tool<'a>(id: &'a str, op: ToolOp<'a>) -> Fact<'a> {
    Fact::ToolChanged(ToolChanged { tool: id.into(), op, metadata: None })
}

fn main() -> Outcome {
    let folder = tempfile::tempdir()?;
    let engine = Engine::open(folder.path().join("agent.turnstore"))?;

    // One append: all of it or nothing, durable when it returns.
    let receipt = engine.append(
        "trip",
        [
            Fact::TurnStarted(TurnStarted { turn: "t1".into(), ..TurnStarted::default() }),
            opened("u1", "user", Some("Book the 9 o'clock train to Graz.")),
            opened("a1", "assistant", None),
            delta("a1", "I found one seat "),
            delta("a1", "and ask before I buy."),
            tool("c1", ToolOp::Started { name: "buy_ticket".into(), message: Some("a1".into()), turn: None, agent: None, detail: None }),
            tool("c1", ToolOp::ArgsSet { text: r#"{"train":"IC 533","seat":"21C"}"#.into() }),
            Fact::InteractionRequested(InteractionRequested {
                interaction: "buy?".into(),
                kind: "approval".into(),
                request: Some(Json::new(r#"{"title":"Buy the ticket for 29 euros?"}"#)?),
                tool: Some("c1".into()),
                ..InteractionRequested::default()
            }),
        ],
    )?;
    println!("appended {} facts, the session is at seq {}", receipt.appended, receipt.seq);

    // A view is one consistent look at the whole store.
    for waiting in engine.view().pending("trip")?.interactions() {
        println!("waiting: {} ({})", waiting.id(), waiting.kind());
    }

    // A key makes an append happen once, however often it is repeated.
    let answer = || {
        let facts = [
            Fact::InteractionResolved(InteractionResolved {
                interaction: "buy?".into(),
                decision: Some("yes".into()),
                ..InteractionResolved::default()
            }),
            tool(
                "c1",
                ToolOp::Result {
                    message: None,
                    content: Some(Content::Text("ticket 4711".into())),
                    status: None,
                    reference: None,
                    error: None,
                    agent: None,
                    detail: None,
                },
            ),
        ];
        Batch::of(facts).expect(receipt.seq).key("answer-buy")
    };
    let first = engine.append("trip", answer())?;
    let again = engine.append("trip", answer())?;
    println!("answered at seq {}, the second time was a repeat: {}", first.seq, again.duplicate);

    let page = engine.view().window("trip", Window::items(50))?;
    for item in page.items() {
        match item.kind() {
            ItemKind::Text(part) => println!("{:<10} {}", part.role(), part.text().map(|text| text.joined()).unwrap_or_default()),
            ItemKind::Tool(tool) => println!("tool       {} {} {}", tool.name(), tool.args().joined(), tool.status()),
            ItemKind::Interaction(asked) => println!("question   {} {:?}", asked.id(), asked.status()),
            _ => {}
        }
    }
    println!("still waiting: {}", engine.view().pending("trip")?.count());
    engine.close()?;
    Ok(())
}
