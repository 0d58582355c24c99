export { laterLogins, loginFolder } from "./later-logins.ts";
export { loadLogIn, loadLogOut, loadRedirect, openLogins } from "./load.ts";
export type { Login } from "./login.ts";
export type { LoginRequest, LoginSettings } from "./log-in.ts";
export type { Logins, LoginState } from "./logins.ts";
export type { Redirect, RedirectListener } from "./redirect.ts";
