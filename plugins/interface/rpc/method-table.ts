/** The operations that an app may call, as the table of operations stands now. */
import { CoreError } from '@device-core/plugin-api';
import { propertiesOf } from '@device-core/plugin-api/inside/schema-reader';
import type { OperationInfo } from '@device-core/plugin-api/services/operations';

export class MethodTable {
  #methods = new Map<string, readonly string[]>();

  /** Takes the whole table; what is not there any more is gone. */
  replace(operations: readonly OperationInfo[]): void {
    this.#methods = new Map(
      operations
        .filter((operation) => operation.rpc !== false)
        .map((operation) => [operation.name, Object.keys(propertiesOf(operation.params))]),
    );
  }

  has(method: string): boolean {
    return this.#methods.has(method);
  }

  /** Params by position stand for the members of the params schema in their order. Throws PARAMS_INVALID. */
  byName(method: string, params: readonly unknown[]): Record<string, unknown> {
    const names = this.#methods.get(method) ?? [];
    if (params.length > names.length)
      throw new CoreError('PARAMS_INVALID', {
        where: `params of ${method}`,
        reason: `there are ${params.length}, at most ${names.length} are known (${names.join(', ') || 'none'})`,
      });
    return Object.fromEntries(params.map((value, index) => [names[index], value]));
  }
}
