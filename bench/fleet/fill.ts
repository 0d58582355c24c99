/** Fills a PostgreSQL store with many turns that wait for a permission, without running each of them. */
import process from "node:process";
import { runTurn } from "../../src/assemble/index.ts";
import { Database } from "../../src/stores/postgres/database.ts";
import { PostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import { ScriptedModel, ScriptedPrompter } from "../../src/testing/index.ts";
import { defineTool } from "../../src/record/tool/index.ts";

/** The workspace to fill. */
export interface FilledWorkspace {
  readonly workspace?: string;
  readonly tenant?: string;
}

const CALL = {
  type: "tool_call",
  id: "call_1",
  name: "run_command",
  arguments: {
    command: "kubectl --context production rollout restart deployment/api",
    reason: "The new certificate is only read at the start, and the old one ends tonight.",
  },
} as const;

const PARAMETERS = {
  type: "object",
  properties: { command: { type: "string" }, reason: { type: "string" } },
} as const;

/** Rows per statement, which must not take too long. */
const BATCH = 5000;

/** Each row is a second older than the next. The last is as old as the store's clock. */
const COPY = `
  with template as (
    select c.*, w.last_id from jp.conversations c join jp.workspaces w on w.key = c.workspace
    where w.tenant = $1 and w.name = $2 and c.id = $3
  ), made as (
    insert into jp.conversations (tenant, workspace, id, created_at, metadata, labels, base_config, length,
      last_event_at, open_turn, ready_at, is_own_turn, pending_length)
    select tenant, workspace, 'jp-c' || (last_id - 10 * n), to_char(to_timestamp((last_id - 10 * n) / 10.0),
        'YYYY-MM-DD HH24:MI:SS.MS'), metadata, labels, base_config, length,
      to_char(to_timestamp((last_id - 10 * n) / 10.0), 'YYYY-MM-DD HH24:MI:SS.MS'),
      open_turn, ready_at, is_own_turn, pending_length
    from template, generate_series($5::int, $4::int, -1) as n
    returning tenant, workspace, key, id, created_at
  ), listed as (
    insert into jp.pending (tenant, workspace, conversation, id, asked_at, place, kind)
    select made.tenant, made.workspace, made.key, made.id, made.created_at, p.place, p.kind
    from made, template join jp.pending p on p.tenant = template.tenant and p.conversation = template.key
  )
  insert into jp.events (tenant, conversation, seq, entry)
  select made.tenant, made.key, e.seq,
    regexp_replace(e.entry, '"timestamp":"[^"]*"', '"timestamp":"' || made.created_at || '"')
  from made, template join jp.events e on e.conversation = template.key`;

/** Adds this many waiting conversations, oldest first by ID. The tables have to exist. */
export async function fillPending(
  url: string,
  count: number,
  { workspace = "default", tenant = "default" }: FilledWorkspace = {},
): Promise<void> {
  const store = new PostgresStore({ url, workspace, tenant, pid: process.pid });
  const database = new Database(url);
  try {
    const id = await leaveOne(store);
    for (let last = count - 1; last > 0; last -= BATCH) {
      const first = Math.max(1, last - BATCH + 1);
      await database.query({ text: COPY, values: [tenant, workspace, id, first, last] });
    }
    await database.query({ text: "analyze jp.conversations, jp.events, jp.pending" });
  } finally {
    await store.close();
    await database.close();
  }
}

/** A turn as it is recorded. */
async function leaveOne(store: PostgresStore): Promise<string> {
  await using conversation = await store.create({ title: "Renew the certificates" });
  await runTurn(
    {
      conversation,
      model: new ScriptedModel({ replies: [[CALL]] }),
      tools: [
        defineTool({
          name: CALL.name,
          description: "Runs a command in a shell.",
          parameters: PARAMETERS,
          run: async () => "Done.",
        }),
      ],
      toolConfig: { [CALL.name]: { run: "ask" } },
      prompter: new ScriptedPrompter({ permissions: [{ type: "later" }] }),
    },
    "Renew the certificates of the cluster, and restart what has to read them again.",
  );
  return conversation.id;
}
