/** `/context`: what fills the model's context window. */
import { loadNextRequest } from "../../../assemble/index.ts";
import type { RequestPart } from "../../../record/conversation/index.ts";
import { type Cell, describeContextUse, renderTable } from "../../../surfaces/render/index.ts";
import { oneLine } from "../../../util/index.ts";
import type { OpenSession } from "./open-session.ts";

/** In the order of a request. */
const PARTS: Readonly<Record<RequestPart, string>> = {
  instructions: "instructions",
  tools: "descriptions of tools",
  files: "attached files",
  messages: "your messages",
  replies: "the model's replies",
  calls: "tool calls",
  results: "tool results",
};

export async function showContext(session: OpenSession): Promise<void> {
  const { context, conversationId: id, model, mode, directives, attach, servers, signal } = session;
  const { measureNextRequest } = await loadNextRequest();
  const next = await measureNextRequest(context, {
    found: id && (await context.workspace.conversations.load(id)),
    settings: { model, mode: mode.chosen, directives },
    attach,
    servers,
    isSession: true,
    signal,
  });
  const { output } = context;
  const rows = Object.entries(PARTS).flatMap(([part, title]): readonly Cell[][] => {
    const tokens = Math.round(next.parts[part as RequestPart]); // The keys of the table.
    if (tokens === 0) return [];
    const share = Math.round((100 * tokens) / next.tokens);
    return [
      [
        { text: title, style: "cyan" },
        { text: tokens.toLocaleString("en-US") },
        { text: share === 0 ? "<1%" : `${share}%` },
      ],
    ];
  });
  const right = { align: "right" } as const;
  const columns = [
    { title: "PART", shrinks: true },
    { title: "TOKENS", ...right },
    { title: "SHARE", ...right },
  ];
  const { paint, lineWidth: width } = output;
  for (const line of renderTable({ columns, rows, paint, width })) output.print(line);
  const [text] = describeContextUse(next);
  context.notice(`${oneLine(next.model)}: ${text}.`);
  context.notice(next.isEstimated ? ESTIMATED : COUNTED);
}

const ESTIMATED = "Estimated, without your next message. /compact shortens old turns.";
const COUNTED =
  "As counted by the provider; the shares are estimated. /compact shortens old turns.";
