"""What tests are made with: servers, small warehouses and replicas, recorded bodies, facts."""
