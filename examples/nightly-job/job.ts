/** A nightly job. A file answers its questions, and what the file does not answer waits for the next run. */
import process from "node:process";
import {
  AnswersFile,
  booleanQuestion,
  defineTool,
  listPending,
  openStore,
  resumeTurn,
  runTurn,
  selectQuestion,
} from "jp-ts";
import { model } from "./model.ts";

const deploy = defineTool({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object" },
  questions: {
    where: selectQuestion("where", "Where to?", { options: ["test", "live"] }),
    announce: booleanQuestion("announce", "Tell everyone?"),
  },
  async run(_args, { ask }) {
    // The call ends at a question without an answer, and runs again once there is one.
    const where = await ask.where();
    const isAnnounced = await ask.announce();
    return `The site is on ${where}${isAnnounced ? ", and everyone knows" : ""}.`;
  },
});

const store = await openStore("data");
const answers = await AnswersFile.read("answers.toml", process.env);
const options = { model, tools: [deploy], answers };

const [left] = await store.listPending();
await using conversation =
  left === undefined ? await store.create({ title: "Nightly" }) : await store.open(left.id);
const { type, text } =
  left === undefined
    ? await runTurn({ conversation, ...options }, "Deploy the site.")
    : await resumeTurn(conversation, options);

if (type === "done") process.stdout.write(`${text}\n`);
for (const line of answers.explainOpen(await listPending(store))) process.stderr.write(`${line}\n`);
process.exitCode = type === "done" ? 0 : 4;
