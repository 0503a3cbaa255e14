/** Version of plugin-api, what a manifest's `api` range is matched against. */
export const API_VERSION = '1.0.0';
