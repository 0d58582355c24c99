/**
 * The turn under torture: parallel tools that ask and get answers from a person, the config and a model,
 * one of them a secret; and local tools and an MCP server that start processes.
 */
import { type CallableTool, type Toolbox, Turn } from "../../src/core/agent/index.ts";
import {
  parseConfigOrThrow,
  resolveAssistant,
  resolveMcpServers,
  resolveTools,
} from "../../src/settings/config/index.ts";
import { createTool } from "../../src/reach/executor/index.ts";
import { createInquiryBackend } from "../../src/core/answer-model/index.ts";
import { McpServers } from "../../src/reach/mcp/index.ts";
import type { ModelRequest } from "../../src/reach/provider/index.ts";
import type { ConversationWriter } from "../../src/stores/index.ts";
import { ScriptedModel, ScriptedPrompter, type ScriptedReply } from "../../src/testing/index.ts";
import {
  booleanQuestion,
  type Tool,
  defineTool,
  secretQuestion,
  textQuestion,
} from "../../src/record/tool/index.ts";
import type { Clock, JsonObject } from "../../src/util/index.ts";
import type { TurnPlan } from "./plan.ts";
import { SECRET } from "./secret.ts";

/** Asks in its first attempt, and starts a short-lived child in the second. Hangs without input. */
const BUILD = `
read -r document || sleep 300
printf '%s\\n' "$document" >>"$TORTURE_NOTES/local"
case $document in
  *'"answers":{}'*)
    echo '{"type":"needs_input","question":{"id":"sure","text":"Build?","answer_type":"Boolean"}}'
    exit ;;
esac
sleep 300 & child=$!
sleep 0.03
kill $child
echo built`;

/** A minimal MCP server. Its child lives as long as the server. */
const SERVER = `
sleep 300 & child=$!
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$id" "$1"; }
while read -r line; do
  id=\${line#*'"id":'}; id=\${id%%[,\\}]*}
  case $line in
    *'"method":"initialize"'*) answer '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer '"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) sleep 0.03; answer '"result":{"content":[{"type":"text","text":"echoed"}]}' ;;
    *'"id":'*) answer '"error":{"code":-32601,"message":"not known"}' ;;
  esac
done
[ "$1" = stubborn ] && sleep 300
kill $child`;

function configOf({ server }: TurnPlan): JsonObject {
  const parameters = { call: { type: "string" } };
  return {
    assistant: { model: { id: { provider: "own", name: "own" } } },
    conversation: {
      tools: {
        deploy: {
          source: "builtin",
          run: "ask",
          result: "ask",
          questions: { where: { answer: "there" } },
        },
        judge: {
          source: "builtin",
          run: "unattended",
          questions: { sure: { target: "assistant" } },
        },
        refused: { source: "builtin", run: "skip" },
        build: {
          source: "local",
          run: "unattended",
          command: { program: "sh", args: ["-c", BUILD], shell: false },
          parameters,
        },
        ...(server !== "none" && { echo: { source: "mcp.server.echo", run: "unattended" } }),
      },
    },
    providers: {
      mcp: {
        server: { command: "sh", arguments: ["-c", SERVER, "sh", server] },
      },
    },
  };
}

const REPLIES: Readonly<Record<TurnPlan["turn"], readonly ScriptedReply[]>> = {
  first: [
    [
      { type: "reasoning", text: "All of it at once." },
      { type: "text", text: "I begin." },
      call("deploy", "deploy_1"),
      call("build", "build_1"),
      call("judge", "judge_1"),
      call("echo", "echo_1"),
      call("refused", "refused_1"),
    ],
    [call("build", "build_2"), call("deploy", "deploy_2"), call("echo", "echo_2")],
    "It is done.",
  ],
  next: [[call("deploy", "deploy_3"), call("build", "build_3")], "It is done, too."],
};

/** The next reply of the turn, without the calls that are on record already. */
function nextReply(turn: TurnPlan["turn"], { parts }: ModelRequest): ScriptedReply {
  const start = parts.events.findLastIndex(({ type }) => type === "chat_request");
  const made = new Set(
    parts.events
      .slice(start)
      .flatMap((event) => (event.type === "tool_call_request" ? [event.id] : [])),
  );
  for (const reply of REPLIES[turn]) {
    if (typeof reply === "string") return reply;
    const isCall = reply.filter((step) => step.type === "tool_call");
    if (isCall.some(({ id }) => !made.has(id))) {
      return reply.filter((step) => step.type !== "tool_call" || !made.has(step.id));
    }
  }
  return "";
}

function call(name: string, id: string) {
  return { type: "tool_call", id, name, arguments: { call: id } } as const;
}

function builtins(): readonly Tool[] {
  const parameters = { type: "object", properties: { call: { type: "string" } } };
  const deploy = defineTool({
    name: "deploy",
    description: "",
    parameters,
    run: async (_args, { ask }) => {
      if (!(await ask(booleanQuestion("sure", "Sure?")))) return "left alone";
      const where = await ask(textQuestion("where", "Where?"));
      const key = await ask(secretQuestion("key", "Key?"));
      return `deployed ${where} with ${key.length} characters`;
    },
  });
  const judge = defineTool({
    name: "judge",
    description: "",
    parameters,
    run: async (_args, { ask }) =>
      (await ask(booleanQuestion("sure", "Is it good?"))) ? "good" : "bad",
  });
  const refused = defineTool({ name: "refused", description: "", parameters, run: () => "ran" });
  return [deploy, judge, refused];
}

/** `select`: a call in doubt is not run again. */
const ANSWERS = { boolean: true, text: "there", secret: SECRET, select: "skip" };

export interface Scenario extends AsyncDisposable {
  run(): Promise<void>;
}

export interface ScenarioParts {
  readonly plan: TurnPlan;
  readonly conversation: ConversationWriter;
  readonly clock: Clock;
}

export function openScenario({ plan, conversation, clock }: ScenarioParts): Scenario {
  const config = parseConfigOrThrow("the torture", configOf(plan));
  const servers = new McpServers(resolveMcpServers(config), {
    variables: process.env,
    cwd: plan.root,
    clientInfo: { name: "torture", version: "1" },
    clock,
  });
  const assistant = resolveAssistant(config);
  const turn = new Turn({
    conversation,
    clock,
    model: new ScriptedModel({ replies: (request) => nextReply(plan.turn, request) }),
    assistant,
    tools: toolboxOf({ plan, conversation, clock }, servers),
    prompter: new ScriptedPrompter({
      permissions: () => ({ type: "run", isRemembered: true }),
      deliveries: () => ({ type: "deliver" }),
      answers: ({ question }) => ({
        answer: ANSWERS[question.answerType.type],
        isRemembered: question.answerType.type === "boolean",
      }),
    }),
    inquiries: createInquiryBackend({
      assistant: () => assistant,
      model: async () =>
        new ScriptedModel({ replies: () => [{ type: "structured", data: { answer: true } }] }),
      tools: () => [],
      attachments: () => [],
      schemaMode: "stable",
      clock,
    }),
    maxCycles: 10,
  });
  return {
    run: async () => {
      if (plan.isResumed === true) await turn.resume();
      else await turn.run({ content: `The ${plan.turn} request.` });
    },
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

function toolboxOf({ plan, conversation }: ScenarioParts, servers: McpServers): Toolbox {
  const settings = resolveTools(parseConfigOrThrow("the torture", configOf(plan)));
  const shipped = builtins().map((tool) => ({ tool, config: {} }));
  const local = {
    workspaceRoot: plan.root,
    workspaceId: "abc12",
    conversationId: conversation.id,
    variables: { ...process.env, TORTURE_NOTES: plan.notes },
  };
  const find = async (name: string, signal: AbortSignal): Promise<CallableTool | undefined> => {
    const own = settings.get(name);
    if (own === undefined) return undefined;
    return { ...(await createTool(own, { shipped, local, servers, signal })), settings: own };
  };
  return {
    schemas: async (signal) => {
      await find("echo", signal); // Starts the server, if there is one, before the model is asked, as the command does.
      return [];
    },
    find,
  };
}
