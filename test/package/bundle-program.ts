/** A program that another bundler makes one CommonJS file of: a turn in a store, in the folder that it is given. */
import process from "node:process";
import { isJpError, runTurn } from "jp-ts";
import { openStore } from "jp-ts/storage";
import { ScriptedModel } from "jp-ts/testing";

async function main(folder: string): Promise<string> {
  const store = await openStore(folder);
  const conversation = await store.create({ title: "From a bundle" });
  const model = new ScriptedModel({ replies: ["Done."] });
  const { text } = await runTurn({ conversation, model }, "Hi.");
  await conversation.release();
  return text;
}

main(process.argv[2] ?? "").then(
  (text) => process.stdout.write(`${text}\n`),
  (error: unknown) => {
    const { code, message, hint } = isJpError(error) ? error : { code: "", message: String(error) };
    process.stdout.write(`${JSON.stringify({ code, message, hint })}\n`);
  },
);
