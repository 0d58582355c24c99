/** Schema of a whole config: every key, its type and its description. */
import * as v from "valibot";
import { isLoopback, parseHost } from "../../../util/index.ts";
import { assistantGroup } from "./assistant.ts";
import {
  atLeast,
  behaviour,
  described,
  group,
  key,
  namedBy,
  openGroup,
  trust,
  unsupported,
  wholeNumber,
} from "./node.ts";
import { conversationGroup } from "./conversation.ts";
import { providersSchema } from "./providers.ts";

// TypeScript limits the depth of inference, so the two largest groups have their own types.
type PartialAssistant = v.InferOutput<typeof assistantGroup>;

interface PartialConversation extends v.InferOutput<typeof conversationGroup> {}

const assistant: v.GenericSchema<unknown, PartialAssistant> = assistantGroup;
const conversation: v.GenericSchema<unknown, PartialConversation> = conversationGroup;

const progress = group({
  show: key("harmless", "show a progress indicator", v.boolean()),
  delay_secs: key("harmless", "seconds to wait before showing it", atLeast(0)),
  interval_ms: key(
    "harmless",
    "milliseconds between updates",
    wholeNumber({ min: 20, max: 60_000 }),
  ),
});

const duration = v.union([
  v.string(),
  atLeast(0),
  v.object({ secs: atLeast(0), nanos: atLeast(0) }),
]);
const color = v.union([v.number(), v.string()]);
const link = v.union([v.boolean(), v.picklist(["full", "osc8", "off"])]);

const NO_BACKGROUND = "jp does not color backgrounds";
const NO_TYPEWRITER = "jp prints text as it arrives";

/** Accepted by other versions too. */
const reasoningDisplay = v.pipe(
  v.union([
    v.string(),
    wholeNumber({ min: 0, max: 1_000_000 }),
    v.object({ truncate: v.object({ characters: wholeNumber({ min: 0, max: 1_000_000 }) }) }),
  ]),
  v.check(
    (display) =>
      typeof display !== "string" ||
      /^(?:full|hidden|static|progress|timer|summary|\d+)$/.test(display),
    "expected full, hidden, static, progress, timer or a number of characters",
  ),
  behaviour({ unsupported: explainSummary }),
);

const NO_SUMMARY = "jp does not summarize reasoning";

function explainSummary(display: unknown): string | undefined {
  return display === "summary" ? NO_SUMMARY : undefined;
}

const style = group({
  code: group({
    color: key("harmless", "color code blocks", v.boolean()),
    line_numbers: unsupported("jp does not number lines of code", v.boolean()),
    file_link: unsupported("jp does not store code blocks in files", link),
    copy_link: unsupported("jp does not store code blocks in files", link),
  }),
  inline_code: group({ background: unsupported(NO_BACKGROUND, color) }),
  markdown: group({
    wrap_width: key(
      "harmless",
      "maximum width of lines; 0 for the width of the terminal",
      wholeNumber({ min: 0, max: 10_000 }),
    ),
    table_max_column_width: unsupported("columns share the width of the terminal", atLeast(0)),
    table_continuation_edge: unsupported("jp draws lines between rows instead", v.boolean()),
    theme: unsupported("jp uses the colors of your terminal", v.string()),
    hr_style: unsupported("jp always draws a line", v.picklist(["markdown", "line"])),
  }),
  reasoning: group({
    display: key(
      "harmless",
      "how to show reasoning: timer (folded to a line with its length and time; Ctrl-O opens it), full, hidden, static " +
        "(one line), progress (on the status line), or a number of characters",
      reasoningDisplay,
    ),
    summary_model: unsupported(NO_SUMMARY, openGroup({})),
    background: unsupported(NO_BACKGROUND, color),
    extend_across_tool_calls: unsupported(NO_BACKGROUND, v.boolean()),
  }),
  streaming: group({ progress }),
  tool_call: group({
    show: key("turned_off", "show tool calls", v.boolean()),
    progress,
    preparing: progress,
  }),
  typewriter: group({
    text_delay: unsupported(NO_TYPEWRITER, duration),
    code_delay: unsupported(NO_TYPEWRITER, duration),
    max_latency: unsupported(NO_TYPEWRITER, duration),
  }),
  mcp_startup: unsupported("jp shows no progress while servers start", progress),
  lock_wait: group({
    show: key("harmless", "print a notice when a conversation is in use", v.boolean()),
    delay_secs: key("harmless", "seconds to wait before the notice", atLeast(0)),
    interval_ms: unsupported("jp prints the notice once", atLeast(0)),
    timeout_secs: key("harmless", "seconds to wait for a conversation that is in use", atLeast(0)),
  }),
  prompt: key(
    "harmless",
    "how to ask questions: drawn, or plain (lines of text, for screen readers)",
    v.picklist(["drawn", "plain"]),
  ),
  notification: group({
    bell: key("harmless", "ring the bell when a question is waiting", v.boolean()),
    desktop: key(
      "harmless",
      "ask the terminal for a desktop notification when a question is waiting",
      v.boolean(),
    ),
  }),
});

const editor = group({
  cmd: key(
    "always",
    "the editor command; without it, the first variable of envs that is set",
    v.union([
      v.string(),
      v.object({
        program: v.string(),
        args: v.optional(v.array(v.string())),
        shell: v.optional(v.boolean()),
      }),
    ]),
  ),
  envs: key("always", "environment variables that name the editor", v.array(v.string())),
  inline: group({
    edit_mode: unsupported("jp supports only the keys of Emacs", v.picklist(["emacs", "vi"])),
  }),
});

const inEditor = key(
  "harmless",
  "write your reply in your editor: false, true (at the prompt if it cannot open), always (back to the menu if it cannot open) or never",
  v.union([v.boolean(), v.picklist(["always", "never"])]),
);

const interrupt = group({
  escalation_cooldown_secs: key(
    "always",
    "where Ctrl-C has a fixed action: a second one within this many seconds ends the turn",
    atLeast(0),
  ),
  streaming: group({
    action: key(
      "keeps_going",
      "what Ctrl-C does during a reply: prompt (ask you), continue, stop (keep the reply so far), abort " +
        "(discard it) or reply",
      v.picklist(["prompt", "continue", "stop", "abort", "reply"]),
    ),
    compose_in_editor: inEditor,
  }),
  tool_call: group({
    action: key(
      "keeps_going",
      "what Ctrl-C does while tools run: prompt (ask you), continue, restart, respond or stop",
      v.picklist(["prompt", "continue", "restart", "respond", "stop"]),
    ),
    compose_in_editor: inEditor,
  }),
});

const webAddress = v.pipe(
  v.string(),
  v.check(isWebAddress, "expected an address that starts with https:// or http://"),
);

/** Never recorded with a conversation, which could come from another machine and send elsewhere. */
const notify = v.pipe(
  group({
    content: described(
      "how much a notification says: none (only how many questions wait), title (also who asks, and in which " +
        "conversation) or question (also the text of the question)",
      v.picklist(["none", "title", "question"]),
    ),
    debounce_secs: described(
      "seconds to collect questions for one notification; questions answered by then are left out",
      wholeNumber({ min: 0, max: 3600 }),
    ),
    link: described(
      "address of the desk in links; by default, the one jp serve prints",
      webAddress,
    ),
    command: group({
      program: described("program to run for a notification", v.pipe(v.string(), v.nonEmpty())),
      args: described("arguments of the program", v.array(v.string())),
    }),
    webhook: group({
      url: described(
        "address to post notifications to",
        v.pipe(
          webAddress,
          v.check(
            isPrivateAddress,
            "expected https://, or http:// to this machine, without a password",
          ),
        ),
      ),
      secret_env: described(
        "environment variable that holds the secret for signatures",
        v.string(),
      ),
    }),
    email: unsupported(
      "jp no longer sends e-mails itself; notify.command can: see docs/notifications.md#send-an-e-mail",
      openGroup({}),
    ),
  }),
  behaviour({ isMachineSpecific: true }),
  trust("always"),
);

/** Never recorded with a conversation: the same name or address is a different machine elsewhere. */
const web = v.pipe(
  group({
    private_hosts: key(
      "more",
      "hosts of this machine and its networks that web_fetch may reach: localhost:3000, or without a port for that of the scheme",
      v.array(
        v.pipe(
          v.string(),
          v.check((host) => parseHost(host) !== undefined, "expected a host, or host:port"),
        ),
      ),
    ),
  }),
  behaviour({ isMachineSpecific: true }),
);

const price = (of: string) => key("harmless", `price of a million ${of}`, atLeast(0));

/** Never recorded with a conversation: prices belong to an account. */
const usage = v.pipe(
  group({
    currency: key("harmless", "currency of the prices", v.pipe(v.string(), v.nonEmpty())),
    prices: described(
      "prices by model: provider/name, or provider/* for all others of a provider; for common models, jp has a table of prices in USD",
      namedBy(
        group({
          input: price("input tokens"),
          cached_input: price("input tokens from the cache; by default that of input"),
          cache_writes: price("input tokens written to the cache; by default that of input"),
          output: price("output tokens, reasoning included"),
        }),
      ),
    ),
  }),
  behaviour({ isMachineSpecific: true }),
);

/** Only the user's own config may set it: it protects from clones and conversations, which could otherwise relax it. */
const shell = v.pipe(
  group({
    unsandboxed: described(
      "commands where there is no sandbox: ask (every time), or unattended (where a rule allows it)",
      v.picklist(["ask", "unattended"]),
    ),
    env: described(
      "environment variables that commands get, besides PATH, HOME, LANG and the like; * stands for anything",
      v.array(v.pipe(v.string(), v.nonEmpty())),
    ),
    hide_env: described(
      "environment variables to hide from commands, even if env names them; * stands for anything",
      v.array(v.pipe(v.string(), v.nonEmpty())),
    ),
    readable: described(
      "files and folders of your home that commands in the sandbox may read, such as ~/.nvm",
      v.array(v.pipe(v.string(), v.check(isFullPath, "expected a path that starts with / or ~/"))),
    ),
    keep_output_bytes: described(
      "how much to keep of the output of a command, if it is too long for the model",
      wholeNumber({ min: 0, max: 1_000_000_000 }),
    ),
    limits: group({
      processes: described(
        "how many processes and threads a command in the sandbox may have; 0 for no limit",
        wholeNumber({ min: 0, max: 1_000_000 }),
      ),
      memory_bytes: described(
        "how much memory each process of a command may use; 0 for no limit",
        wholeNumber({ min: 0, max: 1_000_000_000_000_000 }),
      ),
      open_files: described(
        "how many files each process of a command may have open; 0 for no limit",
        wholeNumber({ min: 0, max: 1_000_000_000 }),
      ),
      time_secs: described(
        "how long a command may run, in seconds, whatever the call asks for; 0 for no limit",
        wholeNumber({ min: 0, max: 3600 }),
      ),
    }),
  }),
  behaviour({ isMachineSpecific: true }),
  trust("own"),
);

/** Never recorded with a conversation: undo data stays on this machine. */
const undo = v.pipe(
  group({
    keep: key(
      "turned_off",
      "keep what jp's own tools change, in your data folder, so that jp undo can restore it",
      v.boolean(),
    ),
  }),
  behaviour({ isMachineSpecific: true }),
);

/** Only the user's own config may set it: anyone who could move or disable the anchor could rewrite decisions. */
const proof = v.pipe(
  group({
    anchor: group({
      timestamp: described(
        "address of a time stamp authority (RFC 3161)",
        v.pipe(
          webAddress,
          v.check(hasNoPassword, "expected an address without a user name or a password"),
        ),
      ),
      git: described(
        "git repository to push to, such as git@example.com:ana/anchors.git",
        v.pipe(
          v.string(),
          v.check(
            isGitRemote,
            "expected an address for SSH or https:// without a password, or a full path",
          ),
        ),
      ),
      branch: described(
        "branch to push to; by default jp-anchors",
        v.pipe(v.string(), v.check(isBranchName, "expected the name of a branch")),
      ),
      every: described(
        "anchor daily, after a turn; by default only with jp evidence anchor",
        v.picklist(["daily"]),
      ),
    }),
  }),
  behaviour({ isMachineSpecific: true }),
  trust("own"),
);

/** Only the user's own config may set it: it lets any user of the machine make decisions assigned to others. */
const people = v.pipe(
  group({
    owner_alone: described(
      "while no people are known, let whoever uses this machine decide what takes a role or several people",
      v.boolean(),
    ),
  }),
  behaviour({ isMachineSpecific: true }),
  trust("own"),
);

/** The public key of another machine. */
const machineKey = v.pipe(
  v.string(),
  v.regex(/^[\w+/]{43}=$/, "expected what `jp store key` prints"),
);

/** One key for all tenants would let the machine of any of them sign for the others. */
const keyTenant = v.pipe(
  v.string(),
  v.check((name) => name !== "" && name !== "*", "expected the name of a tenant"),
);

/** Only the user's own config may set it: otherwise conversations could be redirected to someone else's database. */
const storage = v.pipe(
  group({
    url: described(
      "address of a PostgreSQL database to keep conversations in, such as postgres://ana@db.example.com/jp, instead of files",
      v.pipe(
        v.string(),
        v.check(
          (text) => /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text),
          "expected an address like postgres://ana@db.example.com/jp",
        ),
        behaviour({ isPrivate: true }),
      ),
    ),
    tenant: described(
      "whose conversations are used in the database; by default `default`",
      v.string(),
    ),
    workspace: described(
      "the name of the workspace in the database; by default, `.jp/.store-id` says which it is",
      v.string(),
    ),
    accepts: described(
      "public keys of other machines, from `jp store key`, whose turns may go on here; one counts for the turns of storage.tenant alone, unless its table names others",
      v.array(
        v.union([
          machineKey,
          v.strictObject({
            key: described("what `jp store key` prints on the other machine", machineKey),
            tenants: described(
              "the tenants whose turns that machine may sign",
              v.pipe(v.array(keyTenant), v.minLength(1, "expected at least one tenant")),
            ),
          }),
        ]),
      ),
    ),
  }),
  behaviour({ isMachineSpecific: true }),
  trust("own"),
);

function hasNoPassword(text: string): boolean {
  return URL.canParse(text) && new URL(text).username === "" && new URL(text).password === "";
}

/** Rejects anything that git would treat as an option or a program to run. */
function isGitRemote(text: string): boolean {
  if (/[\s\p{Cc}]/u.test(text) || text.includes("::")) return false;
  if (text.startsWith("https://")) return hasNoPassword(text);
  if (text.startsWith("ssh://")) return URL.canParse(text) && new URL(text).password === "";
  return text.startsWith("/") || /^(?:[\w.+-]+@)?[A-Za-z0-9][\w.-]*:[^-:/][^:]*$/.test(text);
}

/** A subset of the names that git allows. */
function isBranchName(text: string): boolean {
  return /^\w[\w.-]*(?:\/\w[\w.-]*)*$/.test(text) && !/\.\.|\.$|\.lock(?:\/|$)|\.\//.test(text);
}

function isFullPath(text: string): boolean {
  return text.startsWith("/") || text.startsWith("~/");
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Whether no one in between can read messages to it. */
function isPrivateAddress(text: string): boolean {
  if (!isWebAddress(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  return (protocol === "https:" || isLoopback(hostname)) && username === "" && password === "";
}

export const configSchema = group({
  inherit: key(
    "inherit",
    "set to false to ignore lower layers",
    v.pipe(v.boolean(), behaviour({ isMachineSpecific: true })),
  ),
  extends: key(
    "harmless",
    "other files to read, relative to this one",
    v.pipe(
      v.array(
        v.union([
          v.string(),
          v.object({ path: v.string(), strategy: v.optional(v.picklist(["before", "after"])) }),
        ]),
      ),
      behaviour({ isMachineSpecific: true }),
    ),
  ),
  config_load_paths: key(
    "harmless",
    "folders where --cfg looks up names",
    v.pipe(v.array(v.string()), behaviour({ isMachineSpecific: true })),
  ),
  assistant,
  conversation,
  style,
  editor,
  interrupt,
  user: group({ name: key("person", "your name, recorded with your messages", v.string()) }),
  template: unsupported(
    "messages are not templates",
    openGroup({ values: v.pipe(namedBy(v.unknown()), behaviour({ merge: "fields" })) }),
  ),
  plugins: unsupported("jp has no plugins", openGroup({})),
  providers: providersSchema,
  notify,
  usage,
  web,
  shell,
  undo,
  proof,
  people,
  storage,
});

type Entries = (typeof configSchema)["entries"];

/**
 * One layer, or several merged: any key may be absent. Mapped key by key, because TypeScript limits the depth of
 * inference.
 */
export type PartialConfig = { [Key in keyof Entries]?: v.InferOutput<Entries[Key]> };
