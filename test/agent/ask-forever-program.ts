/**
 * A program for tests that runs turns forever. Its tools ask, and get answers from every source. It prints
 * a line for each event that is on disk. Arguments: the workspace, the user's data, the conversation.
 */
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { parseConversationId } from "../../src/record/conversation/index.ts";
import { openWorkspace } from "../../src/stores/index.ts";
import {
  booleanQuestion,
  defineTool,
  secretQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import { systemClock } from "../../src/util/index.ts";
import { toolCall } from "../../src/record/conversation/events.fixture.ts";
import { questioner } from "../../src/core/agent/questioner.fixture.ts";
import { ToolTurn } from "../../src/core/agent/tool-turn.fixture.ts";

const [root = "", data = "", id = ""] = process.argv.slice(2);
const { conversations } = openWorkspace({
  from: root,
  environment: { variables: { JP_USER_DATA_DIR: data }, home: root, platform: process.platform },
  clock: systemClock,
  pid: process.pid,
});

const turn = await ToolTurn.start({
  conversation: await conversations.open(parseConversationId(id)),
  tools: [
    questioner("asks", booleanQuestion("sure", "Sure?"), textQuestion("name", "Name?")),
    questioner("modest", booleanQuestion("sure", "Sure?")),
    defineTool({
      name: "configured",
      description: "",
      parameters: { type: "object" },
      run: async (_args, { ask }) => {
        await ask(secretQuestion("key", "Key?"));
        await ask(secretQuestion("pin", "Pin?"));
        return "done"; // Not the secrets: a result is on record.
      },
    }),
  ],
  config: {
    modest: { questions: { sure: { target: "assistant" } } },
    configured: { questions: { key: { answer: "s3cret" } } },
  },
  script: {
    answers: ({ question }) => {
      if (question.answerType.type === "boolean") return { answer: true, isRemembered: true };
      return { answer: question.answerType.type === "secret" ? "s3cret" : "Eve" };
    },
  },
  answers: () => ({ type: "answered", answer: true, model: "test/model" }),
  parts: {
    observer: {
      observe: (update) => {
        if (update.type === "event") writeSync(1, `${update.event.type}\n`);
      },
    },
  },
});

flushCompileCache(); // Not done at exit: the program gets killed.
for (;;) {
  const names = ["asks", "modest", "configured", "asks"];
  await turn.run(...names.map((name, index) => toolCall(`call_${index}`, name)));
  await turn.nextTurn();
}
