import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import {
  Command,
  END,
  interrupt,
  isInterrupted,
  MessagesAnnotation,
  MessagesDeltaValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { count, flag, folder, measure, TEXT } from "./measured.mjs";

// Every checkpoint has all messages, or with `delta` only those that are new.
const state =
  flag === "delta" ? new StateSchema({ messages: MessagesDeltaValue }) : MessagesAnnotation;

function model({ messages }) {
  const isCalling = messages.at(-1).getType() === "human";
  const id = `call_${messages.length}`;
  const reply = isCalling
    ? new AIMessage({ content: "", tool_calls: [{ id, name: "deploy", args: {} }] })
    : new AIMessage("Done.");
  return { messages: [reply] };
}

function tool({ messages }) {
  const [{ id }] = messages.at(-1).tool_calls;
  const answer = interrupt("Deploy it?");
  return { messages: [new ToolMessage({ tool_call_id: id, content: `Sure: ${answer}` })] };
}

const graph = new StateGraph(state)
  .addNode("model", model)
  .addNode("tool", tool)
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) =>
    messages.at(-1).tool_calls?.length ? "tool" : END,
  )
  .addEdge("tool", "model")
  .compile({ checkpointer: openSaver(path.join(folder, "langgraph.sqlite")) });

const config = { configurable: { thread_id: "one" }, durability: "sync" };
const seeds = Array.from({ length: count }, (_, index) =>
  index % 2 === 0 ? new HumanMessage(TEXT) : new AIMessage(TEXT),
);
await measure(async (round) => {
  const request = new HumanMessage("Deploy it.");
  const added = round === 0 ? [...seeds, request] : [request];
  const asked = await graph.invoke({ messages: added }, config);
  if (!isInterrupted(asked)) throw new Error("It has not asked.");
  const { messages } = await graph.invoke(new Command({ resume: true }), config);
  if (messages.length < count) throw new Error("Messages are missing.");
  if (messages.at(-1).content !== "Done.") throw new Error("It is not done.");
});

/** With the SQLite of Node: its own one is compiled during installation, for one version of Node. */
function openSaver(file) {
  const database = new DatabaseSync(file);
  return new SqliteSaver({
    exec: (sql) => database.exec(sql),
    pragma: (text) => database.exec(`PRAGMA ${text}`),
    prepare: (sql) => {
      const statement = database.prepare(sql);
      const methods = ["get", "all", "run"].map((name) => [
        name,
        (...args) => statement[name](...args.map((value) => value ?? null)),
      ]);
      return Object.fromEntries(methods);
    },
    transaction:
      (work) =>
      (...args) => {
        database.exec("BEGIN");
        work(...args);
        database.exec("COMMIT");
      },
  });
}
