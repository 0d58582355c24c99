/** Where an API is reached: a bare address gets the API's path, one with a path is taken as it is. */
import { ProviderError } from "./provider-error.ts";

/** Without a slash at its end. */
export function apiUrl(baseUrl: string, path: string): string {
  const url = URL.parse(baseUrl);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ProviderError("invalid_request", "The provider's base URL is not a web address.", {
      isRetryable: false,
      hint: "Set `providers.llm.<provider>.base_url` to an address that begins with http.",
    });
  }
  const trimmed = baseUrl.replace(/\/+$/, "");
  return url.pathname === "/" ? `${trimmed}${path}` : trimmed;
}
