/** Serves the client that started this process, over the standard streams. */
import type { Readable, Writable } from "node:stream";
import { ClientRecord } from "./client-record.ts";
import { ClientQuestions } from "./client-questions.ts";
import { createServer } from "./server.ts";
import { loadModule } from "../../util/index.ts";
import { loadSdk, type ServeSetup } from "./setup.ts";

export interface ClientStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** Runs until the client disconnects or the signal aborts. Resolves when everything is recorded. */
export async function serveStdio(
  setup: ServeSetup,
  { input, output }: ClientStreams,
  signal: AbortSignal,
): Promise<void> {
  const [sdk, stdio] = await Promise.all([
    loadSdk(),
    loadModule(() => import("@modelcontextprotocol/server/stdio")),
  ]);
  const questions = new ClientQuestions(sdk, setup);
  const record = new ClientRecord(setup);
  const transport = new stdio.StdioServerTransport(input, output);
  const handle = stdio.serveStdio(
    ({ era }) => createServer({ sdk, setup, questions, era, recordOf: () => record }),
    { transport, onerror: ({ message }) => setup.onProblem(message) },
  );
  const ended = Promise.withResolvers<void>();
  const { onclose } = transport;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- A transport has no events.
  transport.onclose = () => {
    onclose?.();
    ended.resolve();
  };
  signal.addEventListener("abort", () => ended.resolve(), { once: true });
  if (signal.aborted) ended.resolve();
  await ended.promise;
  await questions.close();
  await handle.close();
}
