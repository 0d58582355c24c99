/** Answers the questions of turn.ts, as JSON over HTTP. It does not depend on jp and could be in any language. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";
import { json } from "node:stream/consumers";

/** Without an answer, the question counts as cancelled. */
export interface Reply {
  readonly answer?: string | boolean;
  readonly reason?: string;
}

interface Asked {
  readonly tool?: string;
  readonly arguments?: { readonly to?: string };
  readonly question?: { readonly text: string };
}

const server = createServer((request, response) => void answer(request, response));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = (await json(request)) as Asked; // Sent by turn.ts.
  const reply = toReply(asked);
  process.stdout.write(`program: ${JSON.stringify(asked)} ${JSON.stringify(reply)}\n`);
  response.end(JSON.stringify(reply));
}

function toReply({ tool, arguments: args, question }: Asked): Reply {
  if (question !== undefined) return { answer: "1.4" };
  if (tool === "release" && args?.to === "test") return { answer: true };
  return { answer: false, reason: "Not on a Friday." };
}

// Listens on this machine only. Sends its address to the parent process, and ends with it.
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  process.send?.(`http://127.0.0.1:${address.port}`);
});
process.once("disconnect", () => server.close().closeAllConnections());
