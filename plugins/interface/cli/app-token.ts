import type { AppStatus } from '@device-core/plugin-api';
import type { CoreClient } from './client.ts';

/** The token of a running app, by its id or its name; the file is named after the name. */
export async function appTokenOf(client: CoreClient, app: string): Promise<string> {
  if (!app.includes('.')) return client.target.appToken(app);
  const { body } = await client.get(`/apps/${encodeURIComponent(app)}`);
  return client.target.appToken((body.app as AppStatus).name);
}
