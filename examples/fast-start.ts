/** A program that starts often, and lets Node keep what it has compiled. */
import module from "node:module";
import { stdout } from "node:process";

module.enableCompileCache();
const { MemoryConversationStore } = await import("jp-ts");

const store = new MemoryConversationStore();
await using conversation = await store.create({ title: "Started fast" });
stdout.write(`${conversation.metadata.title}\n`);
