/** The conversations in the pictures of the desk: a shop whose assistant asks before it changes anything. */
import {
  attemptStart,
  chatRequest,
  closed,
  inquiry,
  message,
  permissionRequest,
  toolCall,
  toolResult,
  turnEnd,
  turnStart,
} from "../../src/record/conversation/events.fixture.ts";
import {
  type ConversationEvent,
  type DecisionSubject,
  timestampFromDate,
} from "../../src/record/conversation/index.ts";
import type { ConversationStore, ConversationWriter } from "../../src/stores/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import type { InquiryQuestion, ToolOrigin } from "../../src/record/tool/index.ts";
import { sha256 } from "../../src/util/index.ts";

/** What the page's clock says. */
export const NOW = new Date("2026-03-02T07:30:00Z");

interface Story {
  readonly title: string;
  readonly minutesAgo: number;
  readonly events: readonly ConversationEvent[];
}

const DIFF = `--- a/src/cart.ts
+++ b/src/cart.ts
@@ -12,8 +12,9 @@ export function totalOf(cart: Cart): number {
   let total = 0;
   for (const { price, count } of cart.items) {
-    total += price * count;
+    total += Math.round(price * 100) * count;
   }
-  return total;
+  // In cents, so that sums are exact.
+  return total / 100;
 }`;

const PATTERNS = [
  { old: "total += price * count;", new: "total += Math.round(price * 100) * count;" },
  {
    old: "return total;",
    new: "// In cents, so that sums are exact.\n  return total / 100;",
  },
];

function asks(id: string, tool: string, question: Partial<InquiryQuestion>): ConversationEvent {
  const [toolCallId = "", questionId = ""] = id.split(".");
  return {
    ...inquiry(id, question),
    source: { source: "tool", name: tool },
    toolCallId,
    questionId,
  };
}

/** What the person who decides is told about the tool. */
function sourceOf(origin: ToolOrigin): DecisionSubject {
  const subject = { digest: sha256(JSON.stringify(origin)), version: 1, parts: {} };
  return { subject, origin, folder: "." };
}

function begins(request: string, reply: string): readonly ConversationEvent[] {
  return [turnStart(), chatRequest(request), message(reply)];
}

const DEPLOY: Story = {
  title: "Deploy what is on main",
  minutesAgo: 330,
  events: [
    ...begins("Deploy what is on main.", "The tests pass. I deploy **0.4.0**."),
    toolCall("c1", "deploy", { version: "0.4.0", strategy: "rolling" }),
    attemptStart("c1"),
    asks("c1.region.1", "deploy", {
      text: "Which region gets 0.4.0 first?",
      context: "The others follow after 30 minutes without errors.",
      answerType: {
        type: "select",
        options: [
          { value: "Frankfurt", description: "60 % of the traffic, on call until 18:00" },
          { value: "Virginia", description: "Low traffic at this hour" },
          { value: "Singapore", description: "Has the new database already" },
        ],
        allowsOther: true,
      },
      allowsNote: true,
    }),
  ],
};

const FIX: Story = {
  title: "Totals are off by a cent",
  minutesAgo: 42,
  events: [
    ...begins("Fix issue 212: totals are off by a cent.", "Prices are summed as fractions."),
    toolCall("c2", "fs_modify_file", { path: "src/cart.ts", patterns: PATTERNS }),
    attemptStart("c2"),
    {
      ...asks("c2.apply_changes.1", "fs_modify_file", {
        text: "Apply these changes to src/cart.ts?",
        context: DIFF,
        exclusive: true,
        rememberAs: "all edits this turn",
      }),
      ...sourceOf({ type: "builtin" }),
    },
  ],
};

const NEWSLETTER: Story = {
  title: "Send the March newsletter",
  minutesAgo: 18,
  events: [
    ...begins("Send the March newsletter.", "The draft is ready."),
    toolCall("c3", "send_newsletter", { draft: "march.md" }),
    attemptStart("c3"),
    asks("c3.subject.1", "send_newsletter", {
      text: "Subject line?",
      answerType: { type: "text" },
      default: "Spring sale",
    }),
    asks("c3.lists.1", "send_newsletter", {
      text: "To which lists?",
      answerType: {
        type: "select",
        options: [
          { value: "customers", description: "8,214 addresses" },
          { value: "newcomers", description: "312 addresses" },
          { value: "press", description: "41 addresses" },
        ],
        isMultiple: true,
      },
    }),
    asks("c3.now.1", "send_newsletter", { text: "Send it right away?" }),
  ],
};

const CLEANUP: Story = {
  title: "Free some disk space",
  minutesAgo: 5,
  events: [
    ...begins("Free some disk space.", "Old images take 40 GB."),
    toolCall("c4", "shell", { command: "docker image prune --all --force" }),
    {
      ...permissionRequest("c4"),
      tool: "shell",
      arguments: { command: "docker image prune --all --force" },
      ...sourceOf({ type: "local", command: "sh -c {{command}}" }),
    },
  ],
};

function runs(
  id: string,
  command: string,
): readonly [call: ConversationEvent, asked: ConversationEvent] {
  const asked = {
    ...permissionRequest(id),
    tool: "shell_run",
    arguments: { command },
    ...sourceOf({ type: "builtin", confinement: "sandbox" }),
    takes: { turn: { code: "calls" }, note: "any" },
  } as const;
  return [toolCall(id, "shell_run", { command }), asked];
}

const CHECKS = [runs("c6", "npm test"), runs("c7", "npm run lint"), runs("c8", "git diff --stat")];

/** Several calls that are decided on one card. */
const CHECK: Story = {
  title: "Check the branch before the release",
  minutesAgo: 4,
  events: [
    ...begins("Check the branch before the release.", "I run the tests and the linter."),
    ...CHECKS.map(([call]) => call),
    ...CHECKS.map(([, asked]) => asked),
  ],
};

/** In the middle of its turn, as long as someone holds its writer. */
const REINDEX: Story = {
  title: "Rebuild the search index",
  minutesAgo: 3,
  events: [
    ...begins("Rebuild the search index.", "It has **120,000 entries**. I count them first."),
    toolCall("c9", "count_entries", { index: "products" }),
    attemptStart("c9"),
    toolResult("c9", "119,874 entries, 126 without a price"),
    message("126 entries have no price. I leave them out, and rebuild the rest."),
    toolCall("c10", "rebuild_index", { index: "products", without: "price" }),
    attemptStart("c10"),
  ],
};

/** Complete, with a question that Ada has answered. */
const RENAME: Story = {
  title: "Rename the checkout service",
  minutesAgo: 1500,
  events: [
    ...begins(
      "Rename the service `checkout` to `payments`.",
      "It is used in **14 files**. I’ll start with the deployment.",
    ),
    toolCall("c5", "rename_service", { from: "checkout", to: "payments" }),
    attemptStart("c5"),
    asks("c5.alias.1", "rename_service", {
      text: "Keep the old name as an alias?",
      context: "Two dashboards still use it.",
      allowsNote: true,
    }),
    closed("c5.alias.1", {
      outcome: "answered",
      answer: true,
      note: "Until April.",
      answeredBy: { kind: "user", channel: "desk", name: "Ada" },
    }),
    toolResult("c5", "renamed in 14 files, alias kept"),
    message("Done. The alias `checkout` stays until April:\n\n1. 14 files renamed\n2. alias added"),
    turnEnd(),
  ],
};

const STORIES = { RENAME, DEPLOY, FIX, NEWSLETTER, CLEANUP, CHECK };

/** Their ids, by name. */
export type Shop = Readonly<Record<keyof typeof STORIES, string>>;

type Open = (clock: FakeClock) => ConversationStore;

/** Writes them, each event 20 seconds after the one before. `open` opens the store with a clock. */
export async function fillShop(open: Open): Promise<Shop> {
  const ids: [string, string][] = [];
  for (const [name, story] of Object.entries(STORIES)) {
    await using writer = await tell(open, story);
    ids.push([name, writer.id]);
  }
  return Object.fromEntries(ids) as Shop; // One for each story.
}

/** A conversation that runs until its writer is disposed. */
export function startWork(open: Open): Promise<ConversationWriter> {
  return tell(open, REINDEX);
}

async function tell(open: Open, { title, minutesAgo, events }: Story): Promise<ConversationWriter> {
  const start = NOW.getTime() - minutesAgo * 60_000;
  const writer = await open(new FakeClock(new Date(start))).create({ title });
  const dated = events.map((event, index) => ({
    ...event,
    timestamp: timestampFromDate(new Date(start + index * 20_000)),
  }));
  await writer.append(...dated);
  return writer;
}
