import { expect, test } from "vitest";
import { apiUrl } from "./definition.ts";

test.each([
  ["https://api.example.com", "https://api.example.com/v1"],
  ["https://api.example.com/", "https://api.example.com/v1"],
  ["http://127.0.0.1:8080/proxy/v2/", "http://127.0.0.1:8080/proxy/v2"],
])("%s becomes %s", (baseUrl, expected) => {
  expect(apiUrl(baseUrl, "/v1")).toBe(expected);
});

test.each(["", "api.example.com", "file:///etc/passwd"])("%j is rejected", (baseUrl) => {
  expect(() => apiUrl(baseUrl, "/v1")).toThrow("The provider's base URL is not an HTTP URL.");
});
