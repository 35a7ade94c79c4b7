import createClient from "openapi-fetch";
import type { paths } from "./fanfold.d.ts";
const api = createClient<paths>({ baseUrl: process.env["FANFOLD_URL"]! });
const answer = await api.GET("/v1/me", {});
if (answer.response.status !== 401) throw new Error(`${answer.response.status}`);
