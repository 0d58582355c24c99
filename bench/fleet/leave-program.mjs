// Leaves so many turns, each with a question that no one has answered.
import process from "node:process";
import { openStore, runTurn } from "jp-ts";
import { createTurnParts } from "./turns.mjs";

const [url, workspace, count] = process.argv.slice(2);
const store = await openStore(url, { workspace });
let left = Number(count);
const leave = async () => {
  for (; left > 0;) {
    left -= 1;
    const conversation = await store.create({ labels: { is: "answered" } });
    const { type } = await runTurn(
      { ...createTurnParts(conversation.id), conversation },
      "Restart it.",
    );
    await conversation.release();
    if (type !== "waiting") throw new Error(`A turn ended with ${type}.`);
  }
};
await Promise.all(Array.from({ length: 8 }, leave));
await store.close();
