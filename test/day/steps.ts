/** What a person does in a day, with drawn prompts and in plain mode. */

export interface Step {
  /** `⏎`, `⇥`, `⎋`, arrows and `^C` are keys; text in `«»` is pasted. */
  readonly keys: string;
  /** What the screen then shows, and did not show before. */
  readonly until: string | RegExp;
  /** Nothing waits for input then. */
  readonly isBusy?: boolean;
}

interface Variants {
  readonly drawn?: Step;
  readonly plain?: Step;
}

type Until = Step["until"];

const both = (keys: string, until: Until): Variants => ({
  drawn: { keys, until },
  plain: { keys, until },
});
/** In plain mode, Enter follows. */
const answer = (keys: string, until: Until): Variants => ({
  drawn: { keys, until },
  plain: { keys: `${keys}⏎`, until },
});
const drawn = (keys: string, until: Until): Variants => ({ drawn: { keys, until } });
const plain = (keys: string, until: Until): Variants => ({ plain: { keys, until } });
/** Nothing waits for input after the step. */
const busy = ({ drawn: one, plain: other }: Variants): Variants => ({
  ...(one !== undefined && { drawn: { ...one, isBusy: true } }),
  ...(other !== undefined && { plain: { ...other, isBusy: true } }),
});

const CLEARED = /^\$$/;
/** The prompt of a session, empty. */
const PROMPT = /(?:Ctrl-D leave|\nMessage:)$/;

/** In the shell. */
const SETUP: readonly Variants[] = [
  both("jp⏎", "No jp workspace found"),
  both("jp init⏎", "Which model should answer?"),
  drawn("↓", "❯ llamacpp/small"),
  drawn("↑⏎", "Ask before commands and MCP tools run?"),
  plain("1⏎", "Ask before commands and MCP tools run?"),
  answer("y", "Next: jp"),
  both("cat tools.toml >> .jp/config.toml; tail -2 .jp/config.toml⏎", "parameters.version"),
  both("jp mcp add --in workspace tracker node -- tracker.mjs⏎", "Added tracker"),
  both("jp mcp ls⏎", "SERVER "),
  drawn("clear⏎", CLEARED),
  both("jp mcp tools tracker⏎", "Trust this workspace with this?"),
  answer("?", /y *:? +yes/),
  answer("y", "Create an issue."),
  both("jp model ls⏎", "CONTEXT"),
  both("jp config path⏎", ".config/jp/config.toml"),
  drawn("clear⏎", CLEARED),
];

/** The first conversation of a session. */
const SESSION: readonly Variants[] = [
  both("jp⏎", "New conversation."),
  drawn("/", "❯ /help"),
  drawn("⎋", /\n> \/$/),
  drawn("help⏎", "Ctrl-Z"),
  plain("/help⏎", "Ctrl-Z"),
  drawn("Explain @src/s", "❯ @src/slug.js"),
  drawn("⇥", /> Explain @src\/slug\.js$/),
  drawn("⌥⏎and its gaps", /\n {2}and its gaps$/),
  drawn("⏎", "Trust this workspace with this?"),
  plain("Explain @src/slug.js\\⏎", /Explain @src\/slug\.js\\\nMessage:$/),
  plain("and its gaps⏎", "Trust this workspace with this?"),
  answer("y", "#url-writing"),
  both("Fix it⏎", "Apply these changes to src/slug.js?"),
  drawn("⇥", "? Note:"),
  drawn("with a tab", "? Note: with a tab"),
  drawn("⎋", "Press Esc again to discard"),
  drawn("le⏎", "Note: with a table"),
  drawn("n", "The tool says: The user declined"),
  plain("/note⏎", /\/note\n[^]*Answer:$/),
  plain("with a table⏎", /with a table\n[^]*Answer:$/),
  plain("n⏎", "The tool says: The user declined"),
  both("Fix it⏎", /changed\.[^]*Apply these changes to src\/slug\.js\?/),
  answer("y", "The tool says: Changed src/slug.js"),
  both("Read it⏎", "The tool says: src/"),
];

/** Questions of tools, permissions, and the form of a server. */
const QUESTIONS: readonly Variants[] = [
  both("Release it⏎", "Run local release tool?"),
  answer("p", '"version": "1.1.0"\n'),
  drawn("e", "Edit arguments"),
  drawn("⎋", /Run local release tool\? \[/),
  answer("y", "Which channel?"),
  drawn("be", /❯ beta\n {2}↑↓/),
  drawn("⎋", /❯ beta\n {2}nightly/),
  drawn("⏎", "Registry token?"),
  plain("2⏎", "Registry token?"),
  both("s3cret⏎", "Publish it now?"),
  answer("y", "The tool says: Published"),
  both("File an issue⏎", "Run MCP create_issue tool"),
  answer("y", "Priority"),
  drawn("↓⏎", "Assignee"),
  plain("2⏎", "Assignee"),
  drawn("⎋", "(1/3) Priority\n"),
  drawn("⏎", "✔ (1/3) Priority Normal"),
  both("alice⏎", "Notify the team"),
  answer("n", "Send these answers?"),
  answer("y", "The tool says: Created #12"),
  both("Ask me⏎", "Which branch?"),
  drawn("⏎", "✔ Which branch? main"),
  plain("1⏎", "The tool says: {"),
];

/** Interrupts, and what goes wrong on the way to the model. */
const TROUBLE: readonly Variants[] = [
  busy(both("Take your time⏎", "This takes a while")),
  both("^C", "Interrupted"),
  drawn("?", "keep the output so far"),
  busy(drawn("⎋", "Interrupted continue")),
  plain("?⏎", "keep the output so far"),
  busy(plain("c⏎", "Answered: Interrupted continue")),
  both("^C", /Interrupted continue\n\^C\n[^]*Interrupted/),
  answer("r", "Reply"),
  both("Faster please⏎", "You said: Faster please"),
  both("Be cut off⏎", "and the rest of it."),
  both("Be busy⏎", "Now I can answer."),
  drawn("half a message^Z", "Stopped"),
  drawn("fg⏎", "> half a message"),
  drawn("^C", "Ctrl-Y brings it back"),
  drawn("^Y⏎", "You said: half a message"),
  plain("^Z", "Stopped"),
  plain("fg⏎", /fg\njp\nMessage:$/),
  both("/frok⏎", "Unknown command: /frok"),
  drawn("^C", "Ctrl-Y brings it back"),
];

/** The commands of a session. */
const COMMANDS: readonly Variants[] = [
  both("/model⏎", "The model is llamacpp/scripted."),
  both("/model llamacpp/smal⏎", "Did you mean llamacpp/small?"),
  both("/tools off release⏎", "release is off"),
  both("/tools⏎", "off  release"),
  both("/attach logo.png⏎", "Attached to your next message: logo.png"),
  both("Look at it⏎", "You said: Look at it"),
  both("/attach⏎", "logo.png (1 "),
  both("/attach rm logo.png⏎", "Detached logo.png"),
  both("/compact⏎", "To undo: /compact undo"),
  both("/compact undo⏎", "Removed 1 compaction"),
  both("/cost⏎", "REQUESTS"),
  both("/title Slugs with accents⏎", "The title is now: Slugs"),
  both("/replay⏎", "Asking again: Look at it"),
  drawn("/edit⏎", /Esc goes back\.\n\n> Look at it$/),
  drawn("⎋", "Press Esc again to go back"),
  drawn("⎋", "Nothing was sent."),
  drawn("/edit⏎", /Esc goes back\.\n\n> Look at it$/),
  drawn(" again⏎", "You said: Look at it again"),
  both("/fork 1⏎", "goes to a copy"),
  both("In the copy⏎", "You said: In the copy"),
  both("/new⏎", "Your next message starts a new conversation."),
  drawn("«first line⏎second line»", /> first line\n {2}second line$/),
  drawn("⏎", "You said: second line"),
  plain("first line⏎second line⏎", "Press Enter to send this"),
  plain("⏎", "You said: second line"),
  drawn("^R", "Search history:"),
  drawn("expl", "> Explain @src/slug.js"),
  drawn("⎋", PROMPT),
  drawn("↑", "↑↓ history"),
  drawn("⎋", PROMPT),
  both("/resume⏎", "Which conversation?"),
  drawn("slug", "❯ Slugs with accents"),
  drawn("⎋", /\? Which conversation\?\n/),
  drawn("⎋", PROMPT),
  plain("/cancel⏎", PROMPT),
  both("/quit⏎", /quit\n\$$/),
  drawn("clear⏎", CLEARED),
];

/** Outside of a session. */
const SHELL: readonly Variants[] = [
  both("jp query -a src Hello⏎", "You said: Hello"),
  both("git log --format=%s | jp query -n Summarize⏎", "You said: Add the shop"),
  both(
    `jp query -s '{"type":"object","properties":{"files":{"type":"array"}}}' List the files⏎`,
    '"src/cart.js"',
  ),
  both("jp query -r⏎", "Asking again: List the files"),
  both("jp query Crash⏎", "Check `assistant.model"),
  both("jp query Hello again⏎", "What now?"),
  drawn("↓⏎", "You said: Hello again"),
  plain("2⏎", "You said: Hello again"),
  drawn("clear⏎", CLEARED),
  both("jp query --show-prompt Hi | head -14⏎", "<project_instructions"),
  both("jp query --show-prompt Hi | grep Git⏎", "Git changes: 1 changed"),
  drawn("clear⏎", CLEARED),
  both("jp conversation ls⏎", "ACTIVITY"),
  both("jp conversation grep slug | head -3⏎", ":title:"),
  both("jp conversation show⏎", "Tokens"),
  both("jp conversation print | tail -5⏎", "You said: Hello again\n"),
  drawn("clear⏎", CLEARED),
  both("jp conversation label add work⏎", "Added to"),
  both("jp conversation ls --label work⏎", /ls --label work\n +ID/),
  both("jp conversation compact --dry-run⏎", "Dry run: nothing was changed."),
  both("jp usage⏎", "CACHED"),
  both("jp attachment ls⏎", "Nothing is attached."),
  both("jp inquiry ls | head -4⏎", "turn 2  fs_modify_file"),
  drawn("clear⏎", CLEARED),
  both("jp mcp rm tracker⏎", "Removed"),
  both("jp conversation show nope⏎", "No conversation"),
  both('jp "what is this"⏎', "To ask the assistant: jp query 'what is this'"),
];

/** A process that is killed in the middle of a turn, and what it leaves. */
const KILLED: readonly Variants[] = [
  busy(both("jp query Take your time⏎", "This takes a while")),
  both("^Z", "Stopped"),
  both("kill -9 %1; while kill -0 %1 2> /dev/null; do :; done⏎", "Killed"),
  drawn("clear⏎", CLEARED),
  both("jp resume⏎", "Which conversation?"),
  drawn("⏎", "What now?"),
  plain("1⏎", "What now?"),
  drawn("⎋", "What now? cancelled"),
  plain("/cancel⏎", "Cancelled: What now?"),
  both("/quit⏎", /quit\n\$$/),
];

const STEPS: readonly Variants[] = [
  ...SETUP,
  ...SESSION,
  ...QUESTIONS,
  ...TROUBLE,
  ...COMMANDS,
  ...SHELL,
  ...KILLED,
];

export const DRAWN: readonly Step[] = STEPS.flatMap(({ drawn: step }) => step ?? []);
export const PLAIN: readonly Step[] = STEPS.flatMap(({ plain: step }) => step ?? []);
