import { CoreError, type PluginHost } from '@device-core/plugin-api';
import {
  type ChangeMaker,
  type ChangeRequest,
  type Changes,
  changes,
} from '@device-core/plugin-api/inside/services/changes';
import { type Operation, operations } from '@device-core/plugin-api/services/operations';

export interface StoreView {
  readonly operations: readonly Operation<never, unknown>[];
  /** Work that takes long, for the service that keeps changes. */
  readonly makers: readonly ChangeMaker[];
}

/** Begins a change, and resolves with its id. Throws UNAVAILABLE where no plugin keeps changes. */
export type Changing = (request: ChangeRequest) => Promise<string>;

/** Offers operations and makers of changes as long as there is a service that takes them. `load` is called once, when there is one. */
export function offer(host: Pick<PluginHost, 'when'>, load: (changing: Changing) => Promise<StoreView>): void {
  let service: Changes | undefined;
  const changing: Changing = async (request) => {
    if (service) return service.begin(request);
    const reason = 'service changes is missing: enable plugin changes in the SKU';
    throw new CoreError('UNAVAILABLE', { what: request.kind, reason });
  };
  let loaded: Promise<StoreView> | undefined;
  const view = () => (loaded ??= load(changing));
  host.when(operations, async (table, part) => {
    for (const operation of (await view()).operations) part.use(operation.name, table.add(operation));
  });
  host.when(changes, async (kept, part) => {
    service = kept;
    part.defer('changes', () => {
      service = undefined;
    });
    for (const maker of (await view()).makers) part.use(maker.kind, kept.serve(maker));
  });
}
