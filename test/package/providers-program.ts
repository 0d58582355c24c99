/**
 * A second program of someone who installed the package: a turn with a model of each provider, at the address in
 * the environment.
 */
import process from "node:process";
import {
  createProviders,
  MemoryConversationStore,
  type ProviderName,
  type ProviderSettings,
  runTurn,
} from "jp-ts";

const settingsOf = (name: ProviderName): ProviderSettings => ({
  baseUrl: process.env[`JP_CFG_PROVIDERS_LLM_${name.toUpperCase()}_BASE_URL`] ?? "",
  apiKey: "key",
});
const settings: Readonly<Record<ProviderName, ProviderSettings>> = {
  anthropic: settingsOf("anthropic"),
  google: settingsOf("google"),
  llamacpp: settingsOf("llamacpp"),
  ollama: settingsOf("ollama"),
  openai: settingsOf("openai"),
  openrouter: settingsOf("openrouter"),
};
const providers = createProviders({ settings });
for (const name of Object.keys(settings)) {
  const model = await providers.model(name, "scripted");
  const conversation = await new MemoryConversationStore().create({});
  const { text } = await runTurn({ conversation, model }, "Hello.");
  process.stdout.write(`${name}: ${text}\n`);
}
