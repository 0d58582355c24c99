/** `jp demo`: a scripted conversation through the real store, and what the record says of it. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createWorkspaceFolder, openWorkspace } from "../../storage/index.ts";
import type { CommandContext } from "../compose.ts";
import type { Call } from "../define.ts";
import { listConversations } from "./conversation/ls.ts";
import { printConversation } from "./conversation/print.ts";
import { demoEvents } from "./demo-events.ts";
import { listInquiries } from "./inquiry/ls.ts";

export async function demo({ context }: Call<object>): Promise<void> {
  const { output } = context;
  const demoContext = await createDemoContext(context);
  await using writer = await demoContext.workspace.conversations.create({ title: "Release 1.2" });
  for (const event of demoEvents(context.clock.now())) await writer.append(event);

  const words = [writer.id];
  heading(
    "Everything that happens in a turn is recorded as it happens",
    "jp conversation print",
    context,
  );
  await printConversation({ words, options: {}, context: demoContext });
  heading("Every question: who asked, who answered, and how", "jp inquiry ls", context);
  await listInquiries({ words: [], options: {}, context: demoContext });
  output.print("");
  heading("Conversations are plain files", "jp conversation ls", context);
  await listConversations({ words: [], options: {}, context: demoContext });
  output.print("");
  const { root, files } = demoContext.workspace;
  output.print(`The record is ${files.paths(writer.id).events}`);
  output.print(`Look around: jp --workspace ${root} conversation show newest`);
}

/** A workspace of its own, user data included, so that nothing of the user's is touched. */
async function createDemoContext(context: CommandContext): Promise<CommandContext> {
  const { clock, output, version } = context;
  const root = await mkdtemp(path.join(tmpdir(), "jp-demo-"));
  const variables = { JP_USER_DATA_DIR: path.join(root, ".jp-user-data") };
  const environment = { ...context.environment, variables };
  await createWorkspaceFolder(root, clock);
  const workspace = openWorkspace({ from: root, environment, clock, pid: process.pid });
  return { output, clock, version, environment, cwd: root, workspace };
}

function heading(text: string, command: string, { output }: CommandContext): void {
  output.print(output.paint("bold", text));
  output.print(output.paint("dim", `$ ${command}`));
  output.print("");
}
